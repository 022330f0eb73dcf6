/**
 * What stands where a page could not be shown: the error of its code, and what to do. A class: React knows
 * no other form of this.
 */
import { Component, type ReactNode } from "react";
import { T } from "../text/text.ts";
import { Button } from "./button.tsx";
import { Empty } from "./notice.tsx";

export class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
	override state: { error: Error | undefined } = { error: undefined };

	static getDerivedStateFromError(error: Error): { error: Error } {
		return { error };
	}

	override render(): ReactNode {
		const { error } = this.state;
		if (error === undefined) return this.props.children;
		return (
			<Empty title={T.broken}>
				<p>
					<code>{String(error)}</code>
				</p>
				<p>{T.brokenNext}</p>
				<p>
					<Button look="main" icon="retry" onPress={() => location.reload()}>
						{T.reloadPage}
					</Button>
				</p>
			</Empty>
		);
	}
}
