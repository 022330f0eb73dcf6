/** Batches of an endpoint, the newest first: how far each is, and a form that creates one. */
import { type ReactNode, useState } from "react";
import { useTick } from "../../client/clock.ts";
import { useLoad } from "../../client/load.ts";
import { go, to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { BatchObject } from "../../client/shapes.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/copy.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, Pages, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { count, short } from "../../text/format.ts";
import { T } from "../../text/text.ts";
import { moment } from "../files/file-calls.ts";
import { batchSnippet, isOver, listBatches } from "./batch-calls.ts";
import { BatchProgress } from "./batch-progress.tsx";
import { NewBatch } from "./new-batch.tsx";

/** Ms between two reads of the list. */
const LOAD_MS = 5000;

const COLUMNS: readonly Column<BatchObject>[] = [
	{ name: T.batches.state, cell: ({ status }) => <Status state={status} /> },
	{ name: T.batches.requests, cell: (batch) => <BatchProgress batch={batch} /> },
	{
		name: T.batches.tokensInOut,
		end: true,
		cell: ({ usage }) => T.batches.tokens(count(usage.input_tokens), count(usage.output_tokens)),
	},
	{ name: T.batches.created, cell: ({ created_at: at }) => <Ago at={moment(at)} /> },
	{
		name: T.batches.expires,
		cell: (batch) => (isOver(batch) || batch.expires_at === null ? null : <Ago at={moment(batch.expires_at)} />),
	},
];

export default function BatchesPage({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const write = useMay("write");
	const after = query.get("after") ?? undefined;
	const { data, failure, reload } = useLoad(`batches ${id} ${after}`, (signal) => listBatches(id, after, signal), {
		change: useTick(LOAD_MS),
	});
	const [creating, setCreating] = useState(false);
	const place = (batch: string): string => to(["endpoints", id, "batches", batch]);
	const name: Column<BatchObject> = {
		name: T.batches.batch,
		main: true,
		cell: ({ id: batch, endpoint: path }) => (
			<span className="name-cell">
				<a className="mono" href={place(batch)} title={batch}>
					{short(batch)}
				</a>
				<code className="muted">{path}</code>
			</span>
		),
	};
	return (
		<>
			{write ? (
				<div className="bar">
					<Button look="main" icon="plus" onPress={() => setCreating(true)}>
						{T.batches.create.open}
					</Button>
				</div>
			) : null}
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : data.data.length === 0 ? (
				<Empty title={T.batches.none}>
					<p>{T.batches.how}</p>
					<CodeBlock text={batchSnippet(id)} name={T.batches.snippet} coloured />
				</Empty>
			) : (
				<section className="card flush">
					<Table
						label={T.tabs.batches}
						columns={[name, ...COLUMNS]}
						rows={data.data}
						id={(batch) => batch.id}
						leads={(batch) => place(batch.id)}
					/>
				</section>
			)}
			<Pages
				cursor={after}
				next={data?.has_more ? data.last_id : undefined}
				show={(last) => go(to(["endpoints", id, "batches"], { after: last }))}
				older={T.batches.older}
			/>
			{creating ? <NewBatch endpoint={id} close={() => setCreating(false)} /> : null}
		</>
	);
}
