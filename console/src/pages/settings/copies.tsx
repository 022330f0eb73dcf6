/** The settings for another endpoint, or for `sluice.yaml`. */
import { type ReactNode, useState } from "react";
import { endpointYaml, settingsToCopy } from "../../values/endpoint-yaml.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/copy.tsx";
import { Dialog, DialogForm } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Refusal } from "../../parts/notice.tsx";
import type { Setting } from "../../values/setting-kinds.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { useCreate } from "../endpoint/new-endpoint.tsx";
import { sectionId } from "./sections.tsx";

interface Source {
	endpoint: Endpoint;
	settings: Readonly<Record<string, Setting>>;
}

export function Copies({ admin, ...source }: Source & { admin: boolean }): ReactNode {
	const [open, setOpen] = useState<"copy" | "yaml" | undefined>(undefined);
	const close = (): void => setOpen(undefined);
	return (
		<section id={sectionId(T.settings.copies.title)} className="card">
			<h2>{T.settings.copies.title}</h2>
			<p className="hint">{T.settings.copies.text}</p>
			<div className="actions">
				{admin ? (
					<Button icon="copy" onPress={() => setOpen("copy")}>
						{T.settings.copies.duplicate}
					</Button>
				) : null}
				<Button icon="down2" onPress={() => setOpen("yaml")}>
					{T.settings.copies.yaml}
				</Button>
			</div>
			{open === "copy" ? <Duplicate {...source} close={close} /> : null}
			{open === "yaml" ? (
				<Dialog title={T.settings.copies.yamlTitle(source.endpoint.id)} close={close} wide>
					<p className="hint">{T.settings.copies.yamlText}</p>
					<CodeBlock text={endpointYaml(source.endpoint, source.settings)} name={T.settings.copies.yaml} />
				</Dialog>
			) : null}
		</section>
	);
}

function Duplicate({ endpoint, settings, close }: Source & { close: () => void }): ReactNode {
	const [id, setId] = useState(`${endpoint.id.slice(0, 59)}-copy`);
	const [values, setValues] = useState<Readonly<Record<string, string>>>({});
	const { failure, busy, create } = useCreate(close);
	const submit = (): void => {
		const { name: _, ...copied } = settingsToCopy(endpoint, settings);
		const env = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
		void create({ ...copied, env, ...(id === "" ? {} : { id }) }, "settings");
	};
	const unshown = failure?.beyond(["id"]);
	return (
		<Dialog title={T.settings.copies.duplicateTitle(endpoint.name)} close={close}>
			<DialogForm act={T.settings.copies.create} busy={busy} submit={submit} close={close}>
				<TextField
					label={T.newEndpoint.id}
					value={id}
					onChange={setId}
					hint={T.newEndpoint.idHint}
					fault={failure?.faultOf("id")}
					mono
					autoFocus
				/>
				{endpoint.env.length === 0 ? null : <p className="hint">{T.settings.copies.env}</p>}
				{endpoint.env.map((name) => (
					<TextField
						key={name}
						label={name}
						value={values[name] ?? ""}
						onChange={(value) => setValues({ ...values, [name]: value })}
						type="password"
						autoComplete="new-password"
						mono
					/>
				))}
				{unshown ? <Refusal failure={unshown} /> : null}
			</DialogForm>
		</Dialog>
	);
}
