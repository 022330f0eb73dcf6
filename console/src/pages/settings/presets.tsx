/** Usual ways of scaling, each of which fills several fields. */
import type { ReactNode } from "react";
import { Button } from "../../parts/button.tsx";
import { type FormField, holds, type Typed } from "./settings-form.ts";
import { T } from "../../text/text.ts";
import { PRESETS } from "./groups.ts";

export function Presets({
	fields,
	typed,
	choose,
}: {
	fields: readonly FormField[];
	typed: Typed;
	choose: (values: Typed) => void;
}): ReactNode {
	return (
		<div className="presets" role="group" aria-label={T.settings.presets.title}>
			{PRESETS.map(({ title, means, values }) => (
				<Button key={title} pressed={holds(fields, typed, values)} onPress={() => choose(values)}>
					<b>{title}</b> <span className="muted">{means}</span>
				</Button>
			))}
		</div>
	);
}
