/** The messages of a chat, the newest in view, with the pace of each answer. */
import { type ReactNode, useEffect, useRef } from "react";
import { type Exchange, type Pace, rateOf } from "../../values/chat/chat-format.ts";
import { duration, number } from "../../text/format.ts";
import { Empty, Refusal } from "../../parts/notice.tsx";
import { to } from "../../client/router.ts";
import { T } from "../../text/text.ts";

export function Transcript({
	endpoint,
	exchanges,
	busy,
}: {
	endpoint: string;
	exchanges: readonly Exchange[];
	busy: boolean;
}): ReactNode {
	const box = useRef<HTMLDivElement>(null);
	const last = exchanges.at(-1);
	useEffect(() => {
		box.current?.scrollTo({ top: box.current.scrollHeight });
	}, [last]);
	return (
		<section className="card chat" aria-label={T.chat.of(endpoint)}>
			<h2>{endpoint}</h2>
			{last === undefined ? (
				<Empty title={T.chat.none}>{T.chat.next}</Empty>
			) : (
				<div
					className="chat-log"
					role="log"
					aria-label={T.chat.of(endpoint)}
					aria-busy={busy}
					// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- reached by the keyboard, as it scrolls
					tabIndex={0}
					ref={box}
				>
					{exchanges.map((exchange, index) => (
						<div key={index} className="exchange">
							<div className="bubble own">
								<span className="hidden">{T.chat.you}: </span>
								{exchange.question}
							</div>
							<Answer endpoint={endpoint} exchange={exchange} coming={busy && index === exchanges.length - 1} />
						</div>
					))}
				</div>
			)}
		</section>
	);
}

function Answer({
	endpoint,
	exchange: { answer, reasoning, job, pace, failure, stopped },
	coming,
}: {
	endpoint: string;
	exchange: Exchange;
	coming: boolean;
}): ReactNode {
	const parts = [
		coming && answer === "" && reasoning === "" ? T.chat.waiting : undefined,
		pace?.firstMs === undefined && pace ? T.chat.empty : undefined,
		stopped ? T.chat.stopped : undefined,
		...(pace?.firstMs === undefined ? [] : paceOf(pace)),
	].filter((part) => part !== undefined);
	return (
		<>
			{reasoning === "" ? null : (
				<details className="fold" open={answer === ""}>
					<summary>{T.chat.reasoning}</summary>
					<div className="bubble muted">{reasoning}</div>
				</details>
			)}
			{answer === "" ? null : <div className="bubble">{answer}</div>}
			{failure ? <Refusal failure={failure} /> : null}
			<p className="muted chat-pace">
				{parts.join(" · ")}
				{parts.length > 0 && job !== undefined ? " · " : null}
				{job === undefined ? null : (
					<a href={to(["endpoints", endpoint, "requests", job])} title={job}>
						{T.chat.job}
					</a>
				)}
			</p>
		</>
	);
}

function paceOf(pace: Pace): string[] {
	const rate = rateOf(pace);
	return [
		T.chat.first(duration(pace.firstMs ?? 0)),
		T.chat.tokens(number(pace.tokens), pace.counted),
		...(rate === undefined ? [] : [T.chat.rate(number(rate))]),
	];
}
