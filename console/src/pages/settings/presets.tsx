/** Usual ways of scaling, each of which fills several fields. */
import type { ReactNode } from "react";
import { Button } from "../../parts/button.tsx";
import type { Typed } from "../../settings-form.ts";
import { T } from "../../text.ts";
import { PRESETS } from "./groups.ts";

export function Presets({ choose }: { choose: (values: Typed) => void }): ReactNode {
	return (
		<div className="presets" role="group" aria-label={T.settings.presets.title}>
			{PRESETS.map(({ title, means, values }) => (
				<Button key={title} onPress={() => choose(values)}>
					<b>{title}</b> <span className="muted">{means}</span>
				</Button>
			))}
		</div>
	);
}
