/** API keys (D30): creating and rotating one. Each is shown once. */
import { type ReactNode, useState } from "react";
import { Failure, ask } from "../../client/api.ts";
import { now } from "../../client/clock.ts";
import { useFeed } from "../../client/feed.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/copy.tsx";
import { Dialog, DialogForm } from "../../parts/dialog.tsx";
import { Checkbox, Choices, TextField } from "../../parts/field.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { to } from "../../client/router.ts";
import type { Key, NewKey, Scope } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

/** What keys are made for, with the scope that this takes: each contains those before. */
const PRESETS = {
	client: "write",
	reader: "read",
	admin: "admin",
	worker: undefined,
} as const satisfies Readonly<Record<string, Scope | undefined>>;
type Preset = keyof typeof PRESETS;

const DAY_MS = 86_400_000;

const inDays = (days: number): string => new Date(now() + days * DAY_MS).toISOString();

/** A new key, for as long as the dialog is open. */
function NewKeyShown({ made, close }: { made: NewKey; close: () => void }): ReactNode {
	return (
		<Dialog title={T.keys.createdTitle(made.name)} close={close}>
			<div className="stack">
				<p>{T.keys.once}</p>
				<CodeBlock text={made.key} name={T.keys.key} />
				<div className="actions end">
					<Button look="main" onPress={close}>
						{T.keys.kept}
					</Button>
				</div>
			</div>
		</Dialog>
	);
}

/** Sends a request for a key; what it brought, or why not. */
function useNewKey(): {
	made: NewKey | undefined;
	failure: Failure | undefined;
	busy: boolean;
	make: (path: string, body: object) => Promise<void>;
} {
	const [made, setMade] = useState<NewKey | undefined>(undefined);
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [busy, setBusy] = useState(false);
	const make = async (path: string, body: object): Promise<void> => {
		setBusy(true);
		try {
			setMade(await ask<NewKey>(path, { method: "POST", body }));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
			setBusy(false);
		}
	};
	return { made, failure, busy, make };
}

export function CreateKey({ close }: { close: () => void }): ReactNode {
	const { endpoints = [] } = useFeed();
	const [name, setName] = useState("");
	const [preset, setPreset] = useState<Preset>("client");
	const scope = PRESETS[preset];
	const [only, setOnly] = useState<readonly string[]>([]);
	const [days, setDays] = useState("");
	const { made, failure, busy, make } = useNewKey();
	if (made) return <NewKeyShown made={made} close={close} />;
	const toggle = <V extends string>(list: readonly V[], item: V, on: boolean): readonly V[] =>
		on ? [...list, item] : list.filter((each) => each !== item);
	return (
		<Dialog title={T.keys.create} close={close}>
			<DialogForm
				act={T.keys.create}
				busy={busy}
				disabled={name.trim() === "" || scope === undefined || !/^\d{0,4}$/.test(days)}
				submit={() =>
					void make("v1/keys", {
						name: name.trim(),
						scopes: [scope],
						...(only.length > 0 && scope !== "admin" ? { endpoints: only } : {}),
						...(days === "" ? {} : { expiresAt: inDays(Number(days)) }),
					})
				}
				close={close}
			>
				<TextField
					label={T.keys.name}
					value={name}
					onChange={setName}
					hint={T.keys.nameHint}
					autoFocus
					fault={failure?.details.find(({ field }) => field === "name")?.message}
				/>
				<Choices
					label={T.keys.use}
					value={preset}
					onChange={(id) => setPreset(id as Preset)}
					choices={Object.entries(T.keys.presets).map(([id, text]) => ({ id, ...text }))}
				/>
				{preset === "worker" ? (
					<div>
						<p>{T.keys.workerNext}</p>
						<ul className="links">
							{endpoints.map(({ id, name: shown }) => (
								<li key={id}>
									<a href={to(["endpoints", id, "connect"])}>{shown}</a>
								</li>
							))}
						</ul>
					</div>
				) : null}
				{scope === undefined || scope === "admin" ? null : (
					<fieldset className="choices">
						<legend>{T.keys.only}</legend>
						{endpoints.map(({ id, name: shown }) => (
							<Checkbox key={id} checked={only.includes(id)} onChange={(on) => setOnly(toggle(only, id, on))}>
								{shown}
							</Checkbox>
						))}
						<p className="hint">{T.keys.onlyHint}</p>
					</fieldset>
				)}
				<TextField label={T.keys.days} value={days} onChange={setDays} hint={T.keys.daysHint} />
				{failure ? <Refusal failure={failure} /> : null}
			</DialogForm>
		</Dialog>
	);
}

export function RotateKey({ of, close }: { of: Key; close: () => void }): ReactNode {
	const { made, failure, busy, make } = useNewKey();
	if (made) return <NewKeyShown made={made} close={close} />;
	return (
		<Dialog title={T.keys.rotateTitle(of.name)} close={close}>
			<DialogForm
				act={T.keys.rotate}
				busy={busy}
				submit={() => void make(`v1/keys/${encodeURIComponent(of.id)}/rotate`, {})}
				close={close}
			>
				<p>{T.keys.rotateText}</p>
				{failure ? <Refusal failure={failure} /> : null}
			</DialogForm>
		</Dialog>
	);
}
