/** Webhook deliveries: a list with their tries, and resending one. */
import { type ReactNode, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { ask, search } from "../../client/api.ts";
import { useTick } from "../../client/clock.ts";
import { duration, short } from "../../text/format.ts";
import { type Loaded, useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { EndpointLink } from "../../parts/endpoint-link.tsx";
import { MiddleText } from "../../parts/values/middle-text.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { Delivery, JobDetail, Page } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { DeliveryDialog } from "./delivery-dialog.tsx";

/** Ms between two reads of the deliveries of a job. */
const LOAD_MS = 5000;

const COLUMNS: readonly Column<Delivery>[] = [
	{
		name: T.webhooks.job,
		main: true,
		cell: ({ endpoint, job }) => (
			<a className="mono" href={to(["endpoints", endpoint, "requests", job])} title={job}>
				{short(job)}
			</a>
		),
	},
	{
		name: T.webhooks.endpoint,
		cell: ({ endpoint }) => <EndpointLink id={endpoint} />,
	},
	{ name: T.webhooks.state, cell: ({ state }) => <Status state={state} /> },
	{ name: T.webhooks.url, area: "url", cell: ({ url }) => <MiddleText text={url} /> },
	{ name: T.webhooks.tries, cell: (delivery) => <Tries delivery={delivery} /> },
	{ name: T.webhooks.created, cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

/** Those of one job, on its page: the address heads the row. */
const JOB_COLUMNS = COLUMNS.filter(({ name }) => name !== T.webhooks.job && name !== T.webhooks.endpoint);

/** All of them as a table; `reload` after one was resent. */
export function DeliveryTable({
	deliveries,
	reload,
	ofJob = false,
}: {
	deliveries: readonly Delivery[];
	reload: () => void;
	/** All are of one job. */
	ofJob?: boolean;
}): ReactNode {
	const write = useMay("write");
	const [opened, setOpened] = useState<string | undefined>(undefined);
	const open = deliveries.find(({ id }) => id === opened);
	const act: Column<Delivery> = {
		name: T.webhooks.redeliver,
		silent: true,
		end: true,
		cell: (delivery) => (
			<span className="actions end">
				<Button look="quiet" onPress={() => setOpened(delivery.id)}>
					{T.webhooks.open}
				</Button>
				{write ? <Redeliver delivery={delivery} reload={reload} /> : null}
			</span>
		),
	};
	return (
		<>
			<Table
				tall
				label={T.pages.webhooks}
				columns={[...(ofJob ? JOB_COLUMNS : COLUMNS), act]}
				rows={deliveries}
				id={({ id }) => id}
				leads={({ id }) =>
					() =>
						setOpened(id)
					}
			/>
			{open ? <DeliveryDialog delivery={open} close={() => setOpened(undefined)} /> : null}
		</>
	);
}

/** What the last try brought, and when the next one is due. */
function Tries({ delivery: { tries, state, dueAt } }: { delivery: Delivery }): ReactNode {
	const last = tries.at(-1);
	const all = tries
		.map(
			({ at, status, answer, error, tookMs }) =>
				`${at} ${status ?? ""} ${error ?? ""} ${duration(tookMs)} ${answer ?? ""}`,
		)
		.join("\n");
	if (last === undefined) return <span className="muted">{T.webhooks.notYet}</span>;
	return (
		<span title={all}>
			<span className="fact-line line">
				{last.status === undefined ? "" : statusText(last.status)} {last.error ?? ""}{" "}
				{last.answer === undefined || last.status === 200 ? null : <q>{last.answer}</q>}
			</span>
			<span className="fact-line line muted">
				{duration(last.tookMs)}
				{tries.length > 1 ? `, ${T.webhooks.count(tries.length)}` : ""}
				{state === "pending" && dueAt !== undefined ? (
					<>
						{" "}
						· {T.webhooks.next} <Ago at={dueAt} />
					</>
				) : null}
			</span>
		</span>
	);
}

/** `503 Service Unavailable`. */
function statusText(status: number): string {
	return `${status} ${(T.webhooks.statuses as Readonly<Record<number, string>>)[status] ?? ""}`.trim();
}

function Redeliver({ delivery: { id, state }, reload }: { delivery: Delivery; reload: () => void }): ReactNode {
	const { busy, run } = useAct();
	const send = async (): Promise<void> => {
		if (await run(() => ask(`v1/webhooks/${encodeURIComponent(id)}/redeliver`, { method: "POST" }), T.webhooks.sent))
			reload();
	};
	return state === "pending" ? null : (
		<Button look="quiet" icon="send" busy={busy} onPress={() => void send()}>
			{T.webhooks.redeliver}
		</Button>
	);
}

/** Deliveries of one job; none are loaded for a job without a webhook. */
export function useDeliveries(
	endpoint: string,
	{ id, status, webhook }: JobDetail,
): Pick<Loaded<readonly Delivery[]>, "data" | "failure" | "reload"> {
	const path = `v1/webhooks${search({ endpoint, job: id })}`;
	const { data, failure, reload } = useLoad(
		`${path} ${webhook !== undefined}`,
		async (signal) =>
			webhook === undefined ? [] : (await ask<Page<"deliveries", Delivery>>(path, { signal })).deliveries,
		{ change: `${status} ${useTick(LOAD_MS)}` },
	);
	return { data, failure, reload };
}

export function JobDeliveries({ data, failure, reload }: ReturnType<typeof useDeliveries>): ReactNode {
	return (
		<section className="card flush">
			<header className="section-head padded">
				<h2>{T.pages.webhooks}</h2>
			</header>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : data.length === 0 ? (
				<p className="muted padded">{T.webhooks.atEnd}</p>
			) : (
				<DeliveryTable deliveries={data} reload={reload} ofJob />
			)}
		</section>
	);
}
