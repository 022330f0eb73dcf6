/**
 * Signing in with an API key, once, or with a link (D31): the page does not keep either, the browser
 * gets a cookie that scripts cannot read and a page token that other ports of the host cannot.
 */
import { type ReactNode, useState } from "react";
import { Failure, ask } from "../../client/api.ts";
import { Button } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { Mark } from "../../parts/icons.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { keepPageToken } from "../../client/page-token.ts";
import type { Principal } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

/** Starts a session. Throws `Failure`. */
export async function signInWith(body: { key: string } | { link: string }): Promise<Principal> {
	const { principal, pageToken } = await ask<{ principal: Principal; pageToken: string }>("console/session", {
		method: "POST",
		body,
	});
	keepPageToken(pageToken);
	return principal;
}

export function SignIn({
	problem,
	done,
}: {
	problem: Failure | undefined;
	done: (principal: Principal) => void;
}): ReactNode {
	const [key, setKey] = useState("");
	const [refused, setFailure] = useState<Failure>();
	const failure = refused ?? problem;
	const [busy, setBusy] = useState(false);
	const signIn = async (): Promise<void> => {
		setBusy(true);
		try {
			done(await signInWith({ key: key.trim() }));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(
				error.code === "unauthorized" ? new Failure(error.status, { error: T.signIn.wrong, code: error.code }) : error,
			);
			setBusy(false);
		}
	};
	return (
		<main className="sign-in">
			<form
				className="stack card"
				onSubmit={(event) => {
					event.preventDefault();
					void signIn();
				}}
			>
				<h1>
					<Mark /> {T.product}
				</h1>
				<TextField
					label={T.signIn.key}
					type="password"
					value={key}
					onChange={setKey}
					hint={T.signIn.hint}
					mono
					autoFocus
					autoComplete="current-password"
				/>
				{failure ? <Refusal failure={failure} plain /> : null}
				<Button look="main" busy={busy} disabled={key.trim() === ""}>
					{T.signIn.act}
				</Button>
				<p className="hint">
					{T.signIn.onMachine} <code>{T.signIn.command}</code> {T.signIn.printsLink}
				</p>
			</form>
		</main>
	);
}
