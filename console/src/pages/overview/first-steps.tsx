/** What a new service is shown: an endpoint, a first job, then the own handler. */
import { type ReactNode, useState } from "react";
import { BASE } from "../../client/api.ts";
import { recall, remember } from "../../client/memory.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { Overview } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

const HIDDEN = "first-steps.hidden";

/** Until a job has been completed, or permanently hidden in this browser. */
export function FirstSteps({ endpoints }: { endpoints: readonly Overview[] }): ReactNode {
	const [hidden, setHidden] = useState(() => recall(HIDDEN) === true);
	const admin = useMay("admin");
	const [first] = endpoints;
	const used = endpoints.some(({ queue }) => queue.completed + queue.failed + queue.inQueue + queue.inProgress > 0);
	if (first !== undefined && (hidden || endpoints.some(({ queue }) => queue.completed > 0))) return null;
	return (
		<section className="card first-steps">
			<div className="section-head">
				<h2>{T.first.title}</h2>
				{first === undefined ? null : (
					<Button
						look="quiet"
						onPress={() => {
							remember(HIDDEN, true);
							setHidden(true);
						}}
					>
						{T.first.hide}
					</Button>
				)}
			</div>
			<ol>
				<Step done={first !== undefined} title={T.first.endpoint}>
					{first === undefined ? (
						<>
							<p>{admin ? T.first.create : T.first.describe}</p>
							<CodeBlock name={T.first.endpoint} text={T.first.example} />
						</>
					) : (
						<p>{T.first.has(first.name)}</p>
					)}
				</Step>
				<Step done={used} title={T.first.job}>
					{first === undefined ? (
						<p className="muted">{T.first.later}</p>
					) : (
						<>
							<CodeBlock name={T.first.job} text={T.first.curl(new URL(BASE, location.href).href, first.id)} />
							<p className="side-live" role="status">
								<i className={used ? "lamp on" : "lamp"} /> {used ? T.first.arrived : T.first.listening}
							</p>
							<p>
								<a href={to(["endpoints", first.id, "try"])}>{T.first.tryIt(first.name)}</a> {T.or}{" "}
								<a href={to(["endpoints", first.id, "connect"])}>{T.requests.connect}</a>.
							</p>
						</>
					)}
				</Step>
				<Step done={false} title={T.first.own}>
					<p>{T.first.write}</p>
					<CodeBlock name={T.first.own} text={T.first.commands} />
				</Step>
			</ol>
		</section>
	);
}

function Step({ done, title, children }: { done: boolean; title: string; children: ReactNode }): ReactNode {
	return (
		<li className={done ? "step done" : "step"}>
			<b>
				{done ? <Icon name="check" /> : null} {title}
				{done ? <span className="hidden"> ({T.first.done})</span> : null}
			</b>
			{children}
		</li>
	);
}
