/** Webhook receivers whose last attempt failed (D21): enabled again where they are put off. */
import type { ReactNode } from "react";
import { useAct } from "../../parts/act.ts";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { EndpointLink } from "../../parts/endpoint-link.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { useMay } from "../../client/session.ts";
import type { Receiver } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

const PACE_MS = 5000;

/** Nothing while all receivers answer. `change`: when to read them again. */
export function FailingReceivers({
	endpoint,
	change,
	enabled,
}: {
	endpoint: string | undefined;
	change: unknown;
	enabled: () => void;
}): ReactNode {
	const write = useMay("write");
	const path = `v1/webhooks/receivers${search({ endpoint })}`;
	const {
		data: receivers = [],
		failure,
		reload,
	} = useLoad(path, async (signal) => (await ask<{ receivers: Receiver[] }>(path, { signal })).receivers, {
		change,
		pace: () => PACE_MS,
	});
	if (failure) return <Refusal failure={failure} again={reload} />;
	if (receivers.length === 0) return null;
	const act: Column<Receiver> = {
		name: T.webhooks.enable,
		silent: true,
		end: true,
		cell: (receiver) => (
			<Enable
				receiver={receiver}
				done={() => {
					reload();
					enabled();
				}}
			/>
		),
	};
	return (
		<section className="stack" aria-labelledby="receivers">
			<h2 id="receivers">{T.webhooks.receivers}</h2>
			<div className="card flush">
				<Table
					label={T.webhooks.receivers}
					columns={write ? [...COLUMNS, act] : COLUMNS}
					rows={receivers}
					id={({ endpoint: of, receiver }) => `${of} ${receiver}`}
				/>
			</div>
		</section>
	);
}

const COLUMNS: readonly Column<Receiver>[] = [
	{
		name: T.webhooks.receiver,
		main: true,
		cell: ({ receiver }) => <b className="break">{receiver}</b>,
	},
	{
		name: T.webhooks.endpoint,
		cell: ({ endpoint }) => <EndpointLink id={endpoint} />,
	},
	{ name: T.webhooks.state, cell: (receiver) => <Standing receiver={receiver} /> },
	{ name: T.webhooks.failing, cell: ({ failingSince }) => <Ago at={failingSince} /> },
	{ name: T.webhooks.failures, end: true, cell: ({ failures }) => failures },
	{ name: T.webhooks.reason, cell: ({ reason }) => <span className="break">{reason}</span> },
];

function Standing({ receiver: { disabledAt, pausedUntil } }: { receiver: Receiver }): ReactNode {
	if (disabledAt !== undefined)
		return (
			<span title={T.webhooks.disabledHint}>
				<Badge tone="bad">{T.webhooks.disabled}</Badge> <Ago at={disabledAt} />
			</span>
		);
	if (pausedUntil === undefined) return <Badge tone="late">{T.webhooks.stillFailing}</Badge>;
	return (
		<span>
			<Badge tone="late">{T.webhooks.pausedUntil}</Badge> <Ago at={pausedUntil} />
		</span>
	);
}

/** One that is neither disabled nor paused is called anyway. */
function Enable({ receiver, done }: { receiver: Receiver; done: () => void }): ReactNode {
	const { busy, run } = useAct();
	if (receiver.disabledAt === undefined && receiver.pausedUntil === undefined) return null;
	const path = `/webhook-receivers/${encodeURIComponent(receiver.receiver)}/enable`;
	const enable = async (): Promise<void> => {
		const doing = () => ask(ofEndpoint(receiver.endpoint, path), { method: "POST" });
		if (await run(doing, T.webhooks.enabled)) done();
	};
	return (
		<Button look="quiet" icon="play" busy={busy} onPress={() => void enable()}>
			{T.webhooks.enable}
		</Button>
	);
}
