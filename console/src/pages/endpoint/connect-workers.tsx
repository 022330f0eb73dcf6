/** Attaching workers that are started elsewhere: a token made on the spot, and lines that use it. */
import { type ReactNode, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { Button } from "../../parts/button.tsx";
import { CodeTabs } from "../../parts/values/code-tabs.tsx";
import { TextField } from "../../parts/field.tsx";
import { T } from "../../text/text.ts";
import { WORKER_SNIPPETS, isLoopback } from "./worker-snippets.ts";

export function ConnectWorkers({
	endpoint,
	base,
	external,
}: {
	endpoint: string;
	/** Address of the service as this page reaches it. */
	base: string;
	external: boolean;
}): ReactNode {
	const [url, setUrl] = useState(base);
	const [image, setImage] = useState("my-worker:latest");
	const [made, setMade] = useState<{ env: Record<string, string>; url: string } | undefined>(undefined);
	const { busy, run } = useAct();
	const make = (): Promise<boolean> =>
		run(async () => {
			const { env } = await ask<{ env: Record<string, string> }>(
				ofEndpoint(endpoint, `/worker-env${search({ url, replicas: "true" })}`),
				{ method: "POST" },
			);
			setMade({ env, url });
		});
	return (
		<section className="card connect">
			<h2>{T.connect.workers}</h2>
			<p className="hint">{external ? T.connect.external : T.connect.launched}</p>
			<form
				className="stack"
				onSubmit={(event) => {
					event.preventDefault();
					void make();
				}}
			>
				<div className="two">
					<TextField
						label={T.connect.address}
						value={url}
						onChange={setUrl}
						hint={isLoopback(url) ? T.connect.loopback : T.connect.addressHint}
						mono
					/>
					<TextField label={T.connect.image} value={image} onChange={setImage} mono />
				</div>
				<div className="actions">
					<Button look={external && !made ? "main" : "plain"} icon="key" busy={busy}>
						{made ? T.connect.another : T.connect.token}
					</Button>
				</div>
			</form>
			{made === undefined ? null : (
				<>
					<p role="status">{T.connect.once}</p>
					<CodeTabs
						name={T.connect.workers}
						memory="worker-snippet"
						tabs={WORKER_SNIPPETS.map(({ id, name, text }) => ({
							id,
							name,
							about: T.connect.ways[id],
							text: text({ endpoint, env: made.env, image, loopback: isLoopback(made.url) }),
						}))}
					/>
				</>
			)}
		</section>
	);
}
