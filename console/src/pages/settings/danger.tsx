/** What cannot be undone or is shown once: a new webhook secret, deleting the endpoint. */
import { type ReactNode, useState } from "react";
import { ask, ofEndpoint } from "../../client/api.ts";
import { forget } from "../../client/feed.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/copy.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { go, to } from "../../client/router.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { sectionId } from "./sections.tsx";

export function Secret({ endpoint: { id }, reload }: { endpoint: Endpoint; reload: () => void }): ReactNode {
	const [asking, setAsking] = useState(false);
	const [secret, setSecret] = useState<string | undefined>(undefined);
	const renew = async (): Promise<void> => {
		setSecret(
			(await ask<{ webhookSecret: string }>(ofEndpoint(id, "/webhook-secret"), { method: "POST" })).webhookSecret,
		);
		reload();
	};
	return (
		<section id={sectionId(T.settings.secret)} className="card">
			<h2>{T.settings.secret}</h2>
			<p className="hint">{T.settings.secretText}</p>
			{secret === undefined ? (
				<div className="actions">
					<Button onPress={() => setAsking(true)}>{T.settings.newSecret}</Button>
				</div>
			) : (
				<>
					<p>{T.settings.secretOnce}</p>
					<CodeBlock text={secret} name={T.settings.secret} />
				</>
			)}
			{asking ? (
				<Confirm
					title={T.settings.newSecret}
					act={T.settings.newSecret}
					danger
					doing={renew}
					close={() => setAsking(false)}
				>
					<p>{T.settings.secretAsk}</p>
				</Confirm>
			) : null}
		</section>
	);
}

export function Delete({ endpoint: { id, name } }: { endpoint: Endpoint }): ReactNode {
	const [asking, setAsking] = useState(false);
	const remove = async (): Promise<void> => {
		await ask(ofEndpoint(id), { method: "DELETE" });
		forget(id);
		go(to(["overview"]));
	};
	return (
		<section id={sectionId(T.settings.delete)} className="card">
			<h2>{T.settings.delete}</h2>
			<p className="hint">{T.settings.deleteText}</p>
			<div className="actions">
				<Button look="danger" onPress={() => setAsking(true)}>
					{T.settings.delete}
				</Button>
			</div>
			{asking ? (
				<Confirm
					title={T.settings.deleteTitle(name)}
					act={T.settings.delete}
					danger
					typed={id}
					doing={remove}
					done={T.settings.deleted(name)}
					close={() => setAsking(false)}
				>
					<p>{T.settings.deleteText}</p>
				</Confirm>
			) : null}
		</section>
	);
}
