/** Webhook deliveries of all endpoints, the failed ones at one press. */
import type { ReactNode } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { ask, search } from "../../client/api.ts";
import { useFeed } from "../../client/feed.ts";
import { useLoad } from "../../client/load.ts";
import { Select } from "../../parts/field.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Pages } from "../../parts/table.tsx";
import { go, to, usePlace } from "../../client/router.ts";
import { useSession } from "../../client/session.ts";
import type { Delivery, DeliveryState, Page } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { DeliveryTable } from "./deliveries.tsx";

const STATES: readonly DeliveryState[] = ["pending", "delivered", "failed"];
const PAGE_ROWS = 50;

/** Ms between two reloads while the feed reports changes. */
const PACE_MS = 5000;
const ALL = "*";

export default function WebhooksPage(): ReactNode {
	const { query } = usePlace();
	const { endpoints = [], at } = useFeed();
	const { principal } = useSession();
	// A key that is good for several endpoints only sees one of them at a time.
	const only = (principal.endpoints ?? []).length > 1;
	const endpoint = query.get("endpoint") ?? (only ? principal.endpoints?.[0] : undefined);
	const [state, cursor] = [query.get("state") ?? undefined, query.get("cursor") ?? undefined];
	const path = `v1/webhooks${search({ endpoint, state, cursor, limit: PAGE_ROWS })}`;
	const { data, failure, loading, reload } = useLoad(
		path,
		(signal) => ask<Page<"deliveries", Delivery>>(path, { signal }),
		{ change: cursor === undefined ? at : undefined, pace: () => PACE_MS, keep: true },
	);
	const set = (change: Readonly<Record<string, string | undefined>>): void =>
		go(to(["webhooks"], { ...Object.fromEntries(query), cursor: undefined, ...change }), true);
	const choices = [
		...(only ? [] : [{ id: ALL, name: T.webhooks.all }]),
		...endpoints.map(({ id, name }) => ({ id, name })),
	];
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.webhooks}</h1>
			</header>
			<div className="bar">
				<ToggleButtonGroup
					className="segments"
					aria-label={T.webhooks.state}
					selectionMode="single"
					disallowEmptySelection
					selectedKeys={[state ?? ALL]}
					onSelectionChange={([key]) => set({ state: key === ALL ? undefined : String(key) })}
				>
					<ToggleButton id={ALL} className="segment">
						{T.webhooks.allStates}
					</ToggleButton>
					{STATES.map((each) => (
						<ToggleButton key={each} id={each} className="segment">
							{T.states[each]}
						</ToggleButton>
					))}
				</ToggleButtonGroup>
				<Select
					bare
					label={T.webhooks.endpoint}
					value={endpoint ?? ALL}
					onChange={(id) => set({ endpoint: id === ALL ? undefined : id })}
					choices={choices}
				/>
			</div>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : data.deliveries.length === 0 ? (
				<Empty title={query.size > 0 ? T.webhooks.noMatch : T.webhooks.none}>
					{query.size > 0 ? <a href={to(["webhooks"])}>{T.requests.clear}</a> : <p>{T.webhooks.how}</p>}
				</Empty>
			) : (
				<section className="card flush" aria-busy={loading}>
					<DeliveryTable deliveries={data.deliveries} reload={reload} />
				</section>
			)}
			<Pages cursor={cursor} next={data?.next} show={(at) => set({ cursor: at })} />
		</>
	);
}
