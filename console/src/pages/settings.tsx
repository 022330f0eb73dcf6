/**
 * Settings of an endpoint: a form made of the service's own schema, so that names, bounds and
 * defaults are those of the API.
 */
import { useMemo, useState } from "react";
import type { ReactNode } from "react";
import { Failure, ask, ofEndpoint } from "../api.ts";
import { forget } from "../feed.ts";
import { useLoad } from "../load.ts";
import { Button } from "../parts/button.tsx";
import { CodeBlock } from "../parts/copy.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Select, TextField } from "../parts/field.tsx";
import { Loading, Refusal } from "../parts/notice.tsx";
import { toast } from "../parts/toast.tsx";
import { go, to } from "../router.ts";
import { useMay } from "../session.tsx";
import { faultIn, fieldsOf, nameOf, patchOf, plain, settingsIn } from "../settings-form.ts";
import type { FormField } from "../settings-form.ts";
import type { Endpoint } from "../shapes.ts";
import { T } from "../text.ts";
import { EnvForm } from "./env-form.tsx";

/** The order of the form; a setting that is not named here comes at the end. */
const GROUPS: readonly { title: string; names: readonly string[] }[] = [
	{ title: T.settings.groups.about, names: ["name"] },
	{
		title: T.settings.groups.scaling,
		names: [
			"workersMin",
			"workersMax",
			"scalerType",
			"scalerValue",
			"idleTimeout",
			"gpusPerWorker",
		],
	},
	{
		title: T.settings.groups.jobs,
		names: [
			"executionTimeoutMs",
			"leaseMs",
			"stopGraceMs",
			"initTimeoutMs",
			"retention.run",
			"retention.runsync",
			"retention.records",
		],
	},
	{ title: T.settings.groups.launcher, names: ["launcher"] },
	{ title: T.settings.groups.limits, names: ["limits"] },
];

export function SettingsPage({
	endpoint,
	reload,
}: {
	endpoint: Endpoint;
	reload: () => void;
}): ReactNode {
	const admin = useMay("admin");
	const { data: settings, failure } = useLoad("openapi", async (signal) =>
		settingsIn(await ask("openapi.json", { signal })),
	);
	if (failure) return <Refusal failure={failure} />;
	if (!settings) return <Loading />;
	return (
		<div className="settings">
			{admin ? null : <p className="reason">{T.settings.readOnly}</p>}
			<SettingsForm
				endpoint={endpoint}
				fields={fieldsOf(settings, endpoint)}
				reload={reload}
				admin={admin}
			/>
			{admin ? <EnvForm endpoint={endpoint} reload={reload} /> : null}
			{admin ? <Secret endpoint={endpoint} reload={reload} /> : null}
			{admin ? <Delete endpoint={endpoint} /> : null}
		</div>
	);
}

function SettingsForm({
	endpoint: { id },
	fields,
	reload,
	admin,
}: {
	endpoint: Endpoint;
	fields: readonly FormField[];
	reload: () => void;
	admin: boolean;
}): ReactNode {
	const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [busy, setBusy] = useState(false);
	const faults = useMemo(
		() =>
			Object.fromEntries(
				fields.flatMap((field) => {
					const name = nameOf(field);
					const fault =
						typed[name] === undefined ? undefined : faultIn(field, typed[name], T.settings.faults);
					return fault === undefined ? [] : [[name, fault]];
				}),
			),
		[fields, typed],
	);
	const patch = Object.keys(faults).length > 0 ? {} : patchOf(fields, typed);
	const changed = Object.keys(typed).some(
		(name) => typed[name] !== fields.find((field) => nameOf(field) === name)?.value,
	);

	const save = async (): Promise<void> => {
		setBusy(true);
		setFailure(undefined);
		try {
			await ask(ofEndpoint(id, ""), { method: "PATCH", body: patch });
			setTyped({});
			reload();
			toast({ text: T.settings.saved });
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
		} finally {
			setBusy(false);
		}
	};
	const faultOf = (name: string): string | undefined =>
		faults[name] ??
		failure?.details.find(
			({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
		)?.message;
	const known = new Set(GROUPS.flatMap(({ names }) => names));
	const groups = [
		...GROUPS,
		{
			title: T.settings.groups.other,
			names: fields.map(nameOf).filter((name) => !known.has(name)),
		},
	];
	return (
		<form
			className="stack"
			onSubmit={(event) => {
				event.preventDefault();
				void save();
			}}
		>
			{groups.map(({ title, names }) => {
				const mine = names.flatMap((name) => fields.filter((field) => nameOf(field) === name));
				return mine.length === 0 ? null : (
					<fieldset key={title} className="card" disabled={!admin}>
						<legend>{title}</legend>
						<div className={mine.some(({ kind }) => kind === "json") ? "stack" : "form-grid"}>
							{mine.map((field) => (
								<SettingField
									key={nameOf(field)}
									field={field}
									value={typed[nameOf(field)] ?? field.value}
									fault={faultOf(nameOf(field))}
									onChange={(text) => setTyped({ ...typed, [nameOf(field)]: text })}
								/>
							))}
						</div>
					</fieldset>
				);
			})}
			{failure ? <Refusal failure={failure} /> : null}
			{admin ? (
				<div className={changed ? "actions save-bar changed" : "actions save-bar"}>
					<Button look="main" busy={busy} disabled={!changed || Object.keys(faults).length > 0}>
						{T.settings.save}
					</Button>
					{changed ? (
						<Button
							look="quiet"
							onPress={() => {
								setTyped({});
								setFailure(undefined);
							}}
						>
							{T.settings.revert}
						</Button>
					) : null}
				</div>
			) : null}
		</form>
	);
}

function SettingField({
	field,
	value,
	fault,
	onChange,
}: {
	field: FormField;
	value: string;
	fault: string | undefined;
	onChange: (text: string) => void;
}): ReactNode {
	const { kind, setting } = field;
	const name = nameOf(field);
	const label = (T.settings.names as Readonly<Record<string, string>>)[name] ?? name;
	const otherwise =
		setting.default === undefined || kind === "json"
			? ""
			: ` ${T.settings.defaultIs(plain(setting.default))}`;
	const hint = `${setting.description ?? ""}${otherwise}`;
	if (kind === "choice")
		return (
			<Select
				label={label}
				value={value}
				onChange={onChange}
				choices={(setting.enum ?? []).map((id) => ({ id, name: id }))}
				hint={hint}
				fault={fault}
			/>
		);
	return (
		<TextField
			label={label}
			value={value}
			onChange={onChange}
			hint={hint}
			fault={fault}
			unit={setting["x-unit"]}
			number={kind === "number"}
			{...(kind === "json"
				? { lines: Math.min(14, value.split("\n").length + 1), mono: true }
				: {})}
		/>
	);
}

function Secret({
	endpoint: { id },
	reload,
}: {
	endpoint: Endpoint;
	reload: () => void;
}): ReactNode {
	const [asking, setAsking] = useState(false);
	const [secret, setSecret] = useState<string | undefined>(undefined);
	const renew = async (): Promise<void> => {
		setSecret(
			(await ask<{ webhookSecret: string }>(ofEndpoint(id, "/webhook-secret"), { method: "POST" }))
				.webhookSecret,
		);
		reload();
	};
	return (
		<section className="card">
			<h2>{T.settings.secret}</h2>
			<p className="hint">{T.settings.secretText}</p>
			{secret === undefined ? (
				<div className="actions">
					<Button onPress={() => setAsking(true)}>{T.settings.newSecret}</Button>
				</div>
			) : (
				<>
					<p>{T.settings.secretOnce}</p>
					<CodeBlock text={secret} name={T.settings.secret} />
				</>
			)}
			{asking ? (
				<Confirm
					title={T.settings.newSecret}
					act={T.settings.newSecret}
					danger
					doing={renew}
					close={() => setAsking(false)}
				>
					<p>{T.settings.secretAsk}</p>
				</Confirm>
			) : null}
		</section>
	);
}

function Delete({ endpoint: { id, name } }: { endpoint: Endpoint }): ReactNode {
	const [asking, setAsking] = useState(false);
	const remove = async (): Promise<void> => {
		await ask(ofEndpoint(id), { method: "DELETE" });
		forget(id);
		go(to(["overview"]));
	};
	return (
		<section className="card">
			<h2>{T.settings.delete}</h2>
			<p className="hint">{T.settings.deleteText}</p>
			<div className="actions">
				<Button look="danger" onPress={() => setAsking(true)}>
					{T.settings.delete}
				</Button>
			</div>
			{asking ? (
				<Confirm
					title={T.settings.deleteTitle(name)}
					act={T.settings.delete}
					danger
					typed={id}
					doing={remove}
					done={T.settings.deleted(name)}
					close={() => setAsking(false)}
				>
					<p>{T.settings.deleteText}</p>
				</Confirm>
			) : null}
		</section>
	);
}
