/** The console of who is signed in, or the sign-in page (D31). */
import { type ReactNode, useEffect, useState } from "react";
import { Failure, OUTAGE_MS, ask, whenSignedOut } from "../client/api.ts";
import { afterSeen } from "../client/clock.ts";
import { INPUTS, forgetAll } from "../client/memory.ts";
import { keepPageToken } from "../client/page-token.ts";
import { SignIn, signInWith } from "../pages/access/sign-in.tsx";
import { go, to } from "../client/router.ts";
import { SessionContext } from "../client/session.ts";
import type { Principal } from "../client/shapes.ts";
import { T } from "../text/text.ts";

/** Shows its children when signed in, otherwise the sign-in page. */
export function SessionGate({ children }: { children: ReactNode }): ReactNode {
	const [state, setState] = useState<Principal | "asking" | "out" | Failure>("asking");
	useEffect(() => {
		// The sign-in page keeps the reason that it shows.
		whenSignedOut(() => setState((was) => (was instanceof Failure ? was : "out")));
		let latest = 0;
		let stopWaiting: (() => void) | undefined;
		const enter = (): void => {
			const attempt = (latest += 1);
			// A link may be opened while the question about the session is not answered yet.
			const show = (next: Principal | "out" | Failure): void => {
				if (attempt === latest) setState(next);
			};
			enterSession().then(show, (error: unknown) => {
				show(error instanceof Failure && error.code !== "unauthorized" ? error : "out");
				// Until then a key can be entered, which may succeed first.
				if (error instanceof Failure && error.outage)
					stopWaiting = afterSeen(OUTAGE_MS, () => void (attempt === latest && enter()));
			});
		};
		enter();
		// A link pasted into an open console changes only what stands behind the `#`.
		const onHash = (): void => {
			if (linkIn(location.hash) !== undefined) enter();
		};
		addEventListener("hashchange", onHash);
		return () => {
			removeEventListener("hashchange", onHash);
			stopWaiting?.();
		};
	}, []);

	if (state === "asking")
		return (
			<p className="splash" role="status">
				{T.loading}
			</p>
		);
	if (state === "out" || state instanceof Failure)
		return <SignIn problem={state instanceof Failure ? state : undefined} done={setState} />;
	const signOut = (): void => {
		// Inputs typed here are private to this user.
		forgetAll(INPUTS);
		// Signed out whatever the answer: a session that could not be ended expires.
		ask("console/session", { method: "DELETE" })
			.catch(() => {})
			.finally(() => {
				keepPageToken(undefined);
				setState("out");
			});
	};
	return <SessionContext value={{ principal: state, signOut }}>{children}</SessionContext>;
}

/** The secret of a sign-in link. */
function linkIn(hash: string): string | undefined {
	return /^#\/link\/([^/?]+)$/.exec(hash)?.[1];
}

/** By the link in the address, else by the session of the browser. Throws `Failure`. */
async function enterSession(): Promise<Principal> {
	const link = linkIn(location.hash);
	const current = (): Promise<Principal> =>
		ask<{ principal: Principal }>("console/session").then(({ principal }) => principal);
	if (link === undefined) return await current();
	// The history of the browser must not keep it.
	go(to([]), true);
	try {
		return await signInWith({ link });
	} catch (error) {
		// Its user may load it again.
		return await current().catch(() => {
			throw error;
		});
	}
}
