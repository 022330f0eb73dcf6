/** The form of all settings but the environment; changes are shown before they are saved. */
import { type ReactNode, useId, useRef, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { Failure, ask, ofEndpoint } from "../../client/api.ts";
import { useFocusFault } from "../../client/focus-fault.ts";
import { Button } from "../../parts/button.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { toast } from "../../parts/toast.tsx";
import {
	defaultOf,
	faultIn,
	fieldsOf,
	type FormField,
	isChanged,
	launcherFields,
	launcherFrom,
	launchersIn,
	limitFields,
	nameOf,
	patchOf,
	replacing,
	type Typed,
} from "./settings-form.ts";
import type { Setting } from "../../values/setting-kinds.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { type Change, Changes } from "./changes.tsx";
import { GROUPS } from "./groups.ts";
import { LauncherFields } from "./launcher-fields.tsx";
import { LimitsTable } from "./limits-table.tsx";
import { Presets } from "./presets.tsx";
import { sectionId } from "./sections.tsx";
import { SettingField, valueText } from "./setting-field.tsx";

export function SettingsForm({
	endpoint,
	settings,
	show,
	admin,
	children,
}: {
	endpoint: Endpoint;
	settings: Readonly<Record<string, Setting>>;
	/** Called with the endpoint as it is after a change. */
	show: (endpoint: Endpoint) => void;
	admin: boolean;
	/** Sections behind the form, above what saves it. */
	children: ReactNode;
}): ReactNode {
	const { id, launcher, limits } = endpoint;
	const [typed, setTyped] = useState<Typed>({});
	const [type, setType] = useState<string>(launcher.type);
	const [off, setOff] = useState(limits === "off");
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [asking, setAsking] = useState(false);
	const [tried, setTried] = useState(false);
	const form = useRef<HTMLFormElement>(null);
	const formId = useId();
	useFocusFault(form, failure);

	const launchers = launchersIn(settings);
	const choice = launchers.find((each) => each.type === type) ?? launchers[0]!;
	const sameType = type === launcher.type;
	const fields = fieldsOf(settings, endpoint as unknown as Record<string, unknown>);
	const ofLauncher = launcherFields(choice, sameType ? { ...launcher } : {});
	const ofLimits = limitFields(settings["limits"], limits);
	const all = [...fields, ...ofLauncher, ...(off ? [] : ofLimits)];

	const faults = new Map(
		all.flatMap((field) => {
			const name = nameOf(field);
			const fault = typed[name] === undefined && !tried ? undefined : faultIn(field, typed[name] ?? field.value);
			return fault === undefined ? [] : [[name, fault] as const];
		}),
	);
	const faultOf = (name: string): string | undefined => faults.get(name) ?? failure?.faultOf(name);
	const unshown = failure?.beyond([...all.map(nameOf), "launcher.type"]);
	const changes = changesOf(all, typed);
	if (!sameType) changes.unshift({ name: "launcher.type", before: launcher.type, after: type });
	if (off !== (limits === "off"))
		changes.push({
			name: "limits",
			before: limits === "off" ? "off" : T.settings.limits.on,
			after: off ? "off" : T.settings.limits.on,
		});

	const reset = (): void => {
		setTyped({});
		setType(launcher.type);
		setOff(limits === "off");
		setFailure(undefined);
		setTried(false);
	};
	const { busy, run } = useAct();
	const save = async (): Promise<void> => {
		setFailure(undefined);
		const patch = patchOf(fields, typed);
		if (sameType) Object.assign(patch, patchOf(ofLauncher, typed));
		else patch["launcher"] = replacing(launcher, launcherFrom(choice, ofLauncher, typed));
		const changed = patchOf(ofLimits, typed);
		if (off !== (limits === "off")) patch["limits"] = off ? "off" : (changed["limits"] ?? {});
		else if (!off) Object.assign(patch, changed);
		try {
			show(await ask<Endpoint>(ofEndpoint(id), { method: "PATCH", body: patch }));
			setTyped({});
			setTried(false);
			toast({ text: T.settings.saved });
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			// Faults are shown at their fields, behind the question.
			setFailure(error);
		}
	};
	const change = (name: string, text: string): void => setTyped({ ...typed, [name]: text });
	const others = fields.filter((field) => !GROUPS.some(({ names }) => names.includes(nameOf(field))));
	const groups = [...GROUPS, { title: T.settings.groups.other, names: others.map(nameOf) }];
	const replaces = changes.some(({ name }) => /^(?:launcher|gpusPerWorker|gpuMemoryGb)/.test(name));
	return (
		<>
			<form
				ref={form}
				id={formId}
				className="stack"
				onSubmit={(event) => {
					event.preventDefault();
					setTried(true);
					if (all.every((field) => !faultIn(field, typed[nameOf(field)] ?? field.value))) {
						// What replaces workers is always reviewed.
						if (replaces) setAsking(true);
						else void run(save);
					}
				}}
			>
				{groups.map(({ title, names }) => {
					const mine = names.flatMap((name) => fields.filter((field) => nameOf(field) === name));
					return mine.length === 0 ? null : (
						<fieldset key={title} id={sectionId(title)} className="card" disabled={!admin}>
							<legend>{title}</legend>
							{title === T.settings.groups.scaling && admin ? (
								<Presets fields={fields} typed={typed} choose={(values) => setTyped({ ...typed, ...values })} />
							) : null}
							<div className="form-grid">
								{mine.map((field) => (
									<SettingField
										key={nameOf(field)}
										field={field}
										value={typed[nameOf(field)] ?? field.value}
										fault={faultOf(nameOf(field))}
										onChange={(text) => change(nameOf(field), text)}
									/>
								))}
							</div>
						</fieldset>
					);
				})}
				<fieldset id={sectionId(T.settings.groups.launcher)} className="card" disabled={!admin}>
					<legend>{T.settings.groups.launcher}</legend>
					<div className="stack">
						<LauncherFields
							launchers={launchers}
							chosen={choice}
							choose={setType}
							fields={ofLauncher}
							typed={typed}
							faultOf={faultOf}
							onChange={change}
						/>
					</div>
				</fieldset>
				<fieldset id={sectionId(T.settings.groups.limits)} className="card" disabled={!admin}>
					<legend>{T.settings.groups.limits}</legend>
					<LimitsTable fields={ofLimits} off={off} setOff={setOff} typed={typed} faultOf={faultOf} onChange={change} />
				</fieldset>
				{unshown ? <Refusal failure={unshown} /> : null}
			</form>
			{children}
			{changes.length === 0 ? null : (
				<div className="bar save-bar" role="region" aria-label={T.settings.unsaved}>
					<p role="status">
						<b>{T.settings.changed(changes.length)}</b>{" "}
						<span className="muted">{changes.map(({ name }) => name).join(", ")}</span>
					</p>
					<div className="actions">
						<Button look="quiet" onPress={reset}>
							{T.settings.revert}
						</Button>
						<Button onPress={() => setAsking(true)} disabled={faults.size > 0}>
							{T.settings.review}
						</Button>
						<Button look="main" busy={busy} disabled={faults.size > 0} form={formId}>
							{T.settings.save}
						</Button>
					</div>
				</div>
			)}
			{asking ? <Changes changes={changes} replacing={replaces} save={save} close={() => setAsking(false)} /> : null}
		</>
	);
}

function changesOf(fields: readonly FormField[], typed: Typed): Change[] {
	return fields
		.filter((field) => isChanged(field, typed))
		.map((field) => {
			const text = (value: string): string =>
				value.trim() === "" ? T.settings.changes.default(defaultOf(field) ?? "") : valueText(field, value.trim());
			return { name: nameOf(field), before: text(field.value), after: text(typed[nameOf(field)]!) };
		});
}
