/** A button that saves a file of an endpoint in the browser's folder for downloads. */
import type { ReactNode } from "react";
import { useAct } from "../../parts/act.ts";
import { Button } from "../../parts/button.tsx";
import { saveFile } from "../../parts/save-file.ts";
import { contentOf } from "./file-calls.ts";

export function Download({
	endpoint,
	file,
	name,
	label,
	look = "quiet",
	children,
}: {
	endpoint: string;
	/** Its id. */
	file: string;
	/** Name under which it is saved. */
	name: string;
	label?: string;
	look?: "quiet" | "plain";
	children: string;
}): ReactNode {
	const { busy, run } = useAct();
	const save = async (): Promise<void> => saveFile(name, await (await contentOf(endpoint, file)).blob());
	return (
		<Button look={look} busy={busy} onPress={() => void run(save)} {...(label === undefined ? {} : { label })}>
			{children}
		</Button>
	);
}
