/**
 * Creating an endpoint: its id, what a worker of it is, and how it gets workers. Launchers and their fields are those
 * of the service's schema, presets of HTTP servers those that it lists; everything else has its default and can be
 * changed in the settings.
 */
import { type ReactNode, useRef, useState } from "react";
import { Failure, ask } from "../../client/api.ts";
import { useFocusFault } from "../../client/focus-fault.ts";
import { useLoad } from "../../client/load.ts";
import { Dialog, DialogForm } from "../../parts/dialog.tsx";
import { Select, TextField } from "../../parts/field.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { go, to } from "../../client/router.ts";
import {
	faultIn,
	type LauncherChoice,
	launcherFields,
	launcherFrom,
	launchersIn,
	nameOf,
	settingsIn,
	type Typed,
} from "../settings/settings-form.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { type Presets, readPresets } from "../../modules/http-workers/http-server.ts";
import { httpSetting, type TypedServer } from "../../modules/http-workers/http-setting.ts";
import { ServerFields } from "../../modules/http-workers/server-fields.tsx";
import { LauncherFields } from "../settings/launcher-fields.tsx";

/** Creates an endpoint and opens the page that comes next; a refusal is for the fields. */
export function useCreate(close: () => void): {
	failure: Failure | undefined;
	setFailure: (failure: Failure | undefined) => void;
	busy: boolean;
	create: (settings: object, next: string) => Promise<void>;
} {
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [busy, setBusy] = useState(false);
	const create = async (settings: object, next: string): Promise<void> => {
		setBusy(true);
		setFailure(undefined);
		try {
			const made = await ask<Endpoint>("v1/endpoints", { method: "POST", body: settings });
			close();
			go(to(["endpoints", made.id, next]));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
			setBusy(false);
		}
	};
	return { failure, setFailure, busy, create };
}

export function NewEndpoint({ close }: { close: () => void }): ReactNode {
	const { data, failure } = useLoad("openapi", async (signal) => {
		const [document, presets] = await Promise.all([ask("openapi.json", { signal }), readPresets(signal)]);
		return { launchers: launchersIn(settingsIn(document)), presets };
	});
	return (
		<Dialog title={T.newEndpoint.title} close={close}>
			{failure ? <Refusal failure={failure} /> : null}
			{data ? <Form {...data} close={close} /> : failure ? null : <Loading />}
		</Dialog>
	);
}

type Program = keyof typeof T.newEndpoint.programs;

function Form({
	launchers: all,
	presets: { presets, launchers: ofServers },
	close,
}: {
	launchers: readonly LauncherChoice[];
	presets: Presets;
	close: () => void;
}): ReactNode {
	const [id, setId] = useState("");
	const [name, setName] = useState("");
	const [program, setProgram] = useState<Program>("worker");
	const [server, setServer] = useState<TypedServer>({ preset: presets[0]?.name ?? "", port: "", url: "" });
	const [type, setType] = useState(all[0]!.type);
	/** Texts by the names of fields; a command stays when another launcher is chosen. */
	const [typed, setTyped] = useState<Typed>({});
	const { failure, setFailure, busy, create } = useCreate(close);
	const [tries, setTries] = useState(0);
	const form = useRef<HTMLFormElement>(null);
	useFocusFault(form, failure ?? (tries || undefined));
	const launchers = program === "http" ? all.filter((each) => ofServers.includes(each.type)) : all;
	const launcher = launchers.find((each) => each.type === type) ?? launchers[0]!;
	const fields = launcherFields(launcher, {});
	const faults = new Map(fields.map((field) => [nameOf(field), faultIn(field, typed[nameOf(field)] ?? "")]));
	const faultOf = (name: string): string | undefined =>
		failure?.faultOf(name) ?? (tries > 0 || typed[name] !== undefined ? faults.get(name) : undefined);
	const ofServer = program === "http" ? [launcher.managed ? "http.port" : "http.url"] : [];
	const unshown = failure?.beyond(["id", "name", "launcher.type", ...ofServer, ...fields.map(nameOf)]);

	const submit = async (): Promise<void> => {
		setTries(tries + 1);
		setFailure(undefined);
		if ([...faults.values()].some((fault) => fault !== undefined)) return;
		await create(
			{
				...(id === "" ? {} : { id }),
				...(name === "" ? {} : { name }),
				...(program === "http" ? { http: httpSetting(server, launcher.managed) } : {}),
				launcher: launcherFrom(launcher, fields, typed),
			},
			launcher.managed ? "try" : "connect",
		);
	};

	return (
		<DialogForm form={form} act={T.newEndpoint.create} busy={busy} submit={() => void submit()} close={close}>
			<TextField
				label={T.newEndpoint.id}
				value={id}
				onChange={setId}
				hint={T.newEndpoint.idHint}
				mono
				autoFocus
				fault={failure?.faultOf("id")}
			/>
			<TextField
				label={T.newEndpoint.name}
				value={name}
				onChange={setName}
				hint={T.newEndpoint.nameHint}
				fault={failure?.faultOf("name")}
			/>
			{presets.length === 0 ? null : (
				<Select
					label={T.newEndpoint.program}
					value={program}
					onChange={(chosen) => {
						setProgram(chosen as Program);
						setFailure(undefined);
					}}
					choices={Object.entries(T.newEndpoint.programs).map(([each, title]) => ({ id: each, name: title }))}
				/>
			)}
			{program === "http" ? (
				<ServerFields
					presets={presets}
					managed={launcher.managed}
					typed={server}
					faultOf={(field) => failure?.faultOf(field)}
					onChange={(next) => {
						setServer(next);
						setFailure(undefined);
					}}
				/>
			) : null}
			<LauncherFields
				launchers={launchers}
				chosen={launcher}
				choose={setType}
				fields={fields}
				typed={typed}
				faultOf={faultOf}
				onChange={(field, text) => {
					setTyped({ ...typed, [field]: text });
					setFailure(undefined);
				}}
			/>
			{unshown ? <Refusal failure={unshown} /> : null}
		</DialogForm>
	);
}
