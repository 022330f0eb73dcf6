/** API keys (D30): made with scopes, shown once, revoked. */
import { useState } from "react";
import type { ReactNode } from "react";
import { Failure, ask } from "../api.ts";
import { now } from "../clock.ts";
import { useFeed } from "../feed.ts";
import { useLoad } from "../load.ts";
import { Button } from "../parts/button.tsx";
import { CodeBlock } from "../parts/copy.tsx";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { Checkbox, TextField } from "../parts/field.tsx";
import { Empty, Loading, Refusal } from "../parts/notice.tsx";
import { Badge } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";
import type { Column } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { useMay } from "../session.tsx";
import type { Key, NewKey, Scope } from "../shapes.ts";
import { T } from "../text.ts";

const SCOPES: readonly Scope[] = ["read", "write", "admin"];

export default function KeysPage(): ReactNode {
	const admin = useMay("admin");
	const [making, setMaking] = useState(false);
	const [revoking, setRevoking] = useState<Key | undefined>(undefined);
	const {
		data: keys,
		failure,
		reload,
	} = useLoad("keys", async (signal) => (await ask<{ keys: Key[] }>("v1/keys", { signal })).keys);
	if (!admin) return <Empty title={T.keys.mayNot} />;
	const columns: Column<Key>[] = [
		{ name: T.keys.name, main: true, cell: ({ name }) => <b>{name}</b> },
		{
			name: T.keys.scopes,
			cell: ({ scopes }) => (
				<span className="links">
					{scopes.map((scope) => (
						<Badge key={scope} tone={scope === "admin" ? "late" : "off"}>
							{scope}
						</Badge>
					))}
				</span>
			),
		},
		{
			name: T.keys.endpoints,
			cell: ({ endpoints }) =>
				endpoints === undefined ? (
					<span className="muted">{T.keys.all}</span>
				) : (
					endpoints.join(", ")
				),
		},
		{ name: T.keys.created, cell: ({ createdAt }) => <Ago at={createdAt} /> },
		{
			name: T.keys.used,
			cell: ({ lastUsedAt, lastUsedAddress }) =>
				lastUsedAt === undefined ? (
					<span className="muted">{T.keys.never}</span>
				) : (
					<>
						<Ago at={lastUsedAt} />{" "}
						{lastUsedAddress === undefined ? null : (
							<span className="muted">{T.keys.from(lastUsedAddress)}</span>
						)}
					</>
				),
		},
		{
			name: T.keys.expires,
			cell: ({ expiresAt }) =>
				expiresAt === undefined ? (
					<span className="muted">{T.keys.never}</span>
				) : (
					<time dateTime={expiresAt}>{expiresAt.slice(0, 10)}</time>
				),
		},
		{
			name: T.keys.revoke,
			silent: true,
			end: true,
			cell: (key) => (
				<Button look="quiet" onPress={() => setRevoking(key)}>
					{T.keys.revoke}
				</Button>
			),
		},
	];
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.keys}</h1>
				<div className="actions">
					<Button look="main" icon="key" onPress={() => setMaking(true)}>
						{T.keys.create}
					</Button>
				</div>
			</header>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{keys === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : keys.length === 0 ? (
				<Empty title={T.keys.none}>{T.keys.next}</Empty>
			) : (
				<section className="card flush">
					<Table label={T.pages.keys} columns={columns} rows={keys} id={({ id }) => id} />
				</section>
			)}
			{making ? (
				<CreateKey
					close={() => {
						setMaking(false);
						reload();
					}}
				/>
			) : null}
			{revoking ? (
				<Confirm
					title={T.keys.revokeTitle(revoking.name)}
					act={T.keys.revoke}
					danger
					doing={async () => {
						await ask(`v1/keys/${encodeURIComponent(revoking.id)}`, { method: "DELETE" });
						reload();
					}}
					done={T.keys.revoked}
					close={() => setRevoking(undefined)}
				>
					<p>{T.keys.revokeText}</p>
				</Confirm>
			) : null}
		</>
	);
}

const DAY_MS = 86_400_000;

const inDays = (days: number): string => new Date(now() + days * DAY_MS).toISOString();

function CreateKey({ close }: { close: () => void }): ReactNode {
	const { endpoints = [] } = useFeed();
	const [name, setName] = useState("");
	const [scopes, setScopes] = useState<readonly Scope[]>(["write"]);
	const [only, setOnly] = useState<readonly string[]>([]);
	const [days, setDays] = useState("");
	const [made, setMade] = useState<NewKey | undefined>(undefined);
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [busy, setBusy] = useState(false);
	const make = async (): Promise<void> => {
		setBusy(true);
		try {
			setMade(
				await ask<NewKey>("v1/keys", {
					method: "POST",
					body: {
						name: name.trim(),
						scopes,
						...(only.length > 0 && !scopes.includes("admin") ? { endpoints: only } : {}),
						...(days === "" ? {} : { expiresAt: inDays(Number(days)) }),
					},
				}),
			);
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
			setBusy(false);
		}
	};
	if (made?.key !== undefined) {
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
	const toggle = <V extends string>(list: readonly V[], item: V, on: boolean): readonly V[] =>
		on ? [...list, item] : list.filter((each) => each !== item);
	return (
		<Dialog title={T.keys.create} close={close}>
			<form
				className="stack"
				onSubmit={(event) => {
					event.preventDefault();
					void make();
				}}
			>
				<TextField
					label={T.keys.name}
					value={name}
					onChange={setName}
					hint={T.keys.nameHint}
					autoFocus
					fault={failure?.details.find(({ field }) => field === "name")?.message}
				/>
				<fieldset className="choices">
					<legend>{T.keys.scopes}</legend>
					{SCOPES.map((scope) => (
						<Checkbox
							key={scope}
							checked={scopes.includes(scope)}
							onChange={(on) => setScopes(toggle(scopes, scope, on))}
						>
							<b>{scope}</b> <span className="muted">{T.keys.means[scope]}</span>
						</Checkbox>
					))}
				</fieldset>
				{scopes.includes("admin") ? null : (
					<fieldset className="choices">
						<legend>{T.keys.only}</legend>
						{endpoints.map(({ id, name: shown }) => (
							<Checkbox
								key={id}
								checked={only.includes(id)}
								onChange={(on) => setOnly(toggle(only, id, on))}
							>
								{shown}
							</Checkbox>
						))}
						<p className="hint">{T.keys.onlyHint}</p>
					</fieldset>
				)}
				<TextField label={T.keys.days} value={days} onChange={setDays} hint={T.keys.daysHint} />
				{failure ? <Refusal failure={failure} /> : null}
				<div className="actions end">
					<Button look="quiet" onPress={close}>
						{T.dismiss}
					</Button>
					<Button
						look="main"
						busy={busy}
						disabled={name.trim() === "" || scopes.length === 0 || !/^\d{0,4}$/.test(days)}
					>
						{T.keys.create}
					</Button>
				</div>
			</form>
		</Dialog>
	);
}
