/** Who is signed in (D31), and what the key may do. */
import { createContext, use, useEffect, useState } from "react";
import type { ReactNode } from "react";
import { Failure, ask, whenSignedOut } from "./api.ts";
import { INPUTS, forgetAll } from "./memory.ts";
import { SignIn } from "./pages/sign-in.tsx";
import type { Principal, Scope } from "./shapes.ts";
import { T } from "./text.ts";

interface Session {
	principal: Principal;
	signOut: () => void;
}

const SessionContext = createContext<Session | undefined>(undefined);

/** Shows its children when signed in, otherwise the sign-in page. */
export function SessionGate({ children }: { children: ReactNode }): ReactNode {
	const [state, setState] = useState<Principal | "asking" | "out" | Failure>("asking");
	useEffect(() => {
		whenSignedOut(() => setState("out"));
		ask<{ principal: Principal }>("console/session").then(
			({ principal }) => setState(principal),
			(error: unknown) =>
				setState(error instanceof Failure && error.status !== 401 ? error : "out"),
		);
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
			.finally(() => setState("out"));
	};
	return <SessionContext value={{ principal: state, signOut }}>{children}</SessionContext>;
}

export function useSession(): Session {
	const session = use(SessionContext);
	if (!session) throw new Error("no session");
	return session;
}

/** Whether the key may do that: `admin` everything, `write` also reading (D30). */
export function useMay(scope: Scope): boolean {
	const { scopes } = useSession().principal;
	return (
		scopes.includes("admin") ||
		scopes.includes(scope) ||
		(scope === "read" && scopes.includes("write"))
	);
}
