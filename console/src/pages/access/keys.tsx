/** API keys (D30): made with scopes, rotated, revoked; and the sessions that they began (D31). */
import { type ReactNode, useState } from "react";
import { ask } from "../../client/api.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { EndpointLink } from "../../parts/endpoint-link.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { go, to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { Key, KeyList } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { CreateKey, RotateKey } from "./key-dialogs.tsx";
import { Sessions } from "../../modules/console/sessions.tsx";

/** That of the environment has no times, and is changed elsewhere. */
type Row = Omit<Key, "createdAt"> & Partial<Pick<Key, "createdAt">>;
const isStored = (row: Row): row is Key => row.createdAt !== undefined;
const ENVIRONMENT: Row = { id: "environment", name: "SLUICE_API_KEY", scopes: ["admin"] };

export default function KeysPage(): ReactNode {
	const admin = useMay("admin");
	// The palette opens the dialog by the address.
	const making = usePlace().query.has("new");
	const setMaking = (on: boolean): void => go(to(["keys"], on ? { new: "1" } : {}), true);
	const [rotating, setRotating] = useState<Key | undefined>(undefined);
	const [revoking, setRevoking] = useState<Key | undefined>(undefined);
	const { data, failure, reload } = useLoad("keys", (signal) => ask<KeyList>("v1/keys", { signal }));
	if (!admin) return <Empty title={T.keys.mayNot} />;
	const keys: readonly Row[] = data ? [...(data.environment ? [ENVIRONMENT] : []), ...data.keys] : [];
	const columns: Column<Row>[] = [
		{
			name: T.keys.name,
			main: true,
			cell: (key) => (
				<>
					<b>{key.name}</b>{" "}
					{isStored(key) ? null : (
						<span className="muted" title={T.keys.environmentHint}>
							{T.keys.environment}
						</span>
					)}
				</>
			),
		},
		{
			name: T.keys.scopes,
			cell: ({ scopes }) => (
				<span className="links">
					{scopes.map((scope) => (
						<Badge key={scope}>{scope}</Badge>
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
					<span className="links">
						{endpoints.map((endpoint) => (
							<EndpointLink key={endpoint} id={endpoint} />
						))}
					</span>
				),
		},
		{ name: T.keys.created, cell: (key) => (isStored(key) ? <Ago at={key.createdAt} /> : null) },
		{
			name: T.keys.used,
			cell: (key) => (isStored(key) ? <LastUse of={key} /> : null),
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
			name: T.keys.actions,
			silent: true,
			end: true,
			cell: (key) =>
				isStored(key) ? (
					<span className="actions end">
						<Button look="quiet" onPress={() => setRotating(key)}>
							{T.keys.rotate}
						</Button>
						<Button look="quiet" onPress={() => setRevoking(key)}>
							{T.keys.revoke}
						</Button>
					</span>
				) : null,
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
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : (
				<section className="card flush">
					<Table label={T.pages.keys} columns={columns} rows={keys} id={({ id }) => id} />
				</section>
			)}
			{data?.keys.length === 0 ? <p className="muted">{T.keys.next}</p> : null}
			<Sessions change={data} />
			{rotating ? (
				<RotateKey
					of={rotating}
					close={() => {
						setRotating(undefined);
						reload();
					}}
				/>
			) : null}
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

function LastUse({ of: { lastUsedAt, lastUsedAddress } }: { of: Key }): ReactNode {
	if (lastUsedAt === undefined) return <span className="muted">{T.keys.never}</span>;
	return (
		<span className="figure">
			<Ago at={lastUsedAt} />{" "}
			{lastUsedAddress === undefined ? null : <span className="muted">{T.keys.from(lastUsedAddress)}</span>}
		</span>
	);
}
