/** One webhook delivery: what it sends, and each attempt with the receiver's answer. */
import type { ReactNode } from "react";
import { ask } from "../../client/api.ts";
import { duration, number, timeOfDay } from "../../text/format.ts";
import { readExact } from "../../text/exact.ts";
import { useLoad } from "../../client/load.ts";
import { CodeBlock } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { JsonView } from "../../parts/values/json-view.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Badge, Status } from "../../parts/status.tsx";
import { Ago } from "../../parts/time.tsx";
import type { Delivery, DeliveryDetail } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

export function DeliveryDialog({
	delivery: { id, state, tries },
	close,
}: {
	delivery: Delivery;
	close: () => void;
}): ReactNode {
	const path = `v1/webhooks/${encodeURIComponent(id)}`;
	const { data, failure, reload } = useLoad(path, (signal) => ask<DeliveryDetail>(path, { signal }), {
		change: `${state} ${tries.length}`,
	});
	return (
		<Dialog title={T.webhooks.detail} close={close} wide>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data ? <Detail delivery={data} /> : failure ? null : <Loading />}
		</Dialog>
	);
}

function Detail({ delivery }: { delivery: DeliveryDetail }): ReactNode {
	const { id, url, state, dueAt, tries, body, bodySize } = delivery;
	const whole = new TextEncoder().encode(body).length >= bodySize;
	return (
		<div className="stack">
			<p className="page-title">
				<Status state={state} /> <code className="break">{url}</code>
			</p>
			<p className="muted">
				<code>webhook-id: {id}</code>
			</p>
			<section>
				<h3>{T.webhooks.attempts(tries.length)}</h3>
				{tries.length === 0 ? <p className="muted">{T.webhooks.notYet}</p> : null}
				<ol className="attempts">
					{tries.map(({ at, status, tookMs, error, answer }) => (
						<li key={at}>
							<p>
								{status === undefined ? null : <Badge tone={status === 200 ? "good" : "bad"}>{String(status)}</Badge>}{" "}
								<time dateTime={at}>
									{at.slice(0, 10)} {timeOfDay(at)}
								</time>{" "}
								<span className="muted">{duration(tookMs)}</span> {error}
							</p>
							{answer === undefined || answer === "" ? null : <CodeBlock text={answer} name={T.webhooks.answer} />}
						</li>
					))}
				</ol>
				{state === "pending" && dueAt !== undefined ? (
					<p className="muted">
						{T.webhooks.next} <Ago at={dueAt} />
					</p>
				) : null}
			</section>
			<section>
				<h3>{T.webhooks.body}</h3>
				{bodySize === 0 ? (
					<p className="muted">{T.webhooks.noBody}</p>
				) : whole ? (
					<JsonView value={valueOf(body)} label={T.webhooks.body} />
				) : (
					<>
						<p className="muted">{T.webhooks.cut(number(body.length), number(bodySize))}</p>
						<CodeBlock text={body} name={T.webhooks.body} />
					</>
				)}
			</section>
		</div>
	);
}

function valueOf(body: string): unknown {
	try {
		return readExact(body);
	} catch {
		return body;
	}
}
