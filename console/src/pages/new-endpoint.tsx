/**
 * Creating an endpoint: its id, and how it gets workers. Launchers and their fields are those of the
 * service's schema; everything else has its default and can be changed in the settings.
 */
import { useState } from "react";
import type { ReactNode } from "react";
import { Failure, ask } from "../api.ts";
import { useLoad } from "../load.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Select, TextField } from "../parts/field.tsx";
import { Loading, Refusal } from "../parts/notice.tsx";
import { go, to } from "../router.ts";
import { launcherFrom, launchersIn, settingsIn } from "../settings-form.ts";
import type { LauncherChoice } from "../settings-form.ts";
import type { Endpoint } from "../shapes.ts";
import { T } from "../text.ts";

export function NewEndpoint({ close }: { close: () => void }): ReactNode {
	const { data: launchers, failure } = useLoad("openapi", async (signal) =>
		launchersIn(settingsIn(await ask("openapi.json", { signal }))),
	);
	return (
		<Dialog title={T.newEndpoint.title} close={close}>
			{failure ? <Refusal failure={failure} /> : null}
			{launchers ? <Form launchers={launchers} close={close} /> : failure ? null : <Loading />}
		</Dialog>
	);
}

function Form({
	launchers,
	close,
}: {
	launchers: readonly LauncherChoice[];
	close: () => void;
}): ReactNode {
	const [id, setId] = useState("");
	const [name, setName] = useState("");
	const [type, setType] = useState(launchers[0]!.type);
	/** Texts of the launcher's fields by name; a command stays when another launcher is chosen. */
	const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [busy, setBusy] = useState(false);
	const launcher = launchers.find((each) => each.type === type)!;
	const fault = (field: string): string | undefined =>
		failure?.details.find((each) => each.field === field || each.field.startsWith(`${field}[`))
			?.message;

	const make = async (): Promise<void> => {
		setBusy(true);
		setFailure(undefined);
		try {
			const made = await ask<Endpoint>("v1/endpoints", {
				method: "POST",
				body: {
					...(id === "" ? {} : { id }),
					...(name === "" ? {} : { name }),
					launcher: launcherFrom(launcher, typed),
				},
			});
			close();
			go(to(["endpoints", made.id, launcher.managed ? "try" : "workers"]));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
			setBusy(false);
		}
	};

	return (
		<form
			className="stack"
			onSubmit={(event) => {
				event.preventDefault();
				void make();
			}}
		>
			<TextField
				label={T.newEndpoint.id}
				value={id}
				onChange={setId}
				hint={T.newEndpoint.idHint}
				mono
				autoFocus
				fault={fault("id")}
			/>
			<TextField
				label={T.newEndpoint.name}
				value={name}
				onChange={setName}
				hint={T.newEndpoint.nameHint}
				fault={fault("name")}
			/>
			<Select
				label={T.newEndpoint.launcher}
				value={type}
				onChange={(key) => setType(String(key))}
				choices={launchers.map((each) => ({ id: each.type, name: each.title }))}
				hint={launcher.description}
			/>
			{launcher.fields.map((field) => (
				<TextField
					key={`${type}.${field.name}`}
					label={field.label}
					value={typed[field.name] ?? ""}
					onChange={(text) => setTyped({ ...typed, [field.name]: text })}
					mono
					hint={field.hint}
					placeholder={field.placeholder}
					fault={fault(`launcher.${field.name}`)}
				/>
			))}
			{failure ? <Refusal failure={failure} /> : null}
			<div className="actions end">
				<Button look="quiet" onPress={close}>
					{T.dismiss}
				</Button>
				<Button look="main" busy={busy}>
					{T.newEndpoint.create}
				</Button>
			</div>
		</form>
	);
}
