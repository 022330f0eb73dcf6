/**
 * Environment of an endpoint's workers: values are never shown, so each is replaced, kept or
 * removed.
 */
import { type ReactNode, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { ask, ofEndpoint } from "../../client/api.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { sectionId } from "./sections.tsx";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

export function EnvForm({ endpoint: { id, env }, reload }: { endpoint: Endpoint; reload: () => void }): ReactNode {
	const [name, setName] = useState("");
	const [value, setValue] = useState("");
	const { busy, run } = useAct();
	const patch = async (change: Readonly<Record<string, string | null>>): Promise<void> => {
		if (!(await run(() => ask(ofEndpoint(id), { method: "PATCH", body: { env: change } }), T.settings.saved))) return;
		setName("");
		setValue("");
		reload();
	};
	return (
		<form
			id={sectionId(T.env.title)}
			className="card stack"
			onSubmit={(event) => {
				event.preventDefault();
				void patch({ [name]: value });
			}}
		>
			<h2>{T.env.title}</h2>
			<p className="hint">{T.env.about}</p>
			{env.length === 0 ? null : (
				<ul className="env">
					{env.map((each) => (
						<li key={each}>
							<code>{each}</code> <span className="muted">{T.env.set}</span>
							<IconButton
								name={T.env.remove(each)}
								icon="close"
								onPress={() => void patch({ [each]: null })}
								disabled={busy}
							/>
						</li>
					))}
				</ul>
			)}
			<div className="two">
				<TextField label={T.env.name} value={name} onChange={setName} mono />
				<TextField
					label={T.env.value}
					value={value}
					onChange={setValue}
					mono
					type="password"
					autoComplete="new-password"
				/>
			</div>
			<div className="actions">
				<Button busy={busy} disabled={name === ""}>
					{env.includes(name) ? T.env.replace : T.env.add}
				</Button>
			</div>
		</form>
	);
}
