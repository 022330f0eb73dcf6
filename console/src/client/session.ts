/** Who is signed in (D31), and what the key may do. */
import { createContext, use } from "react";
import type { Principal, Scope } from "./shapes.ts";

interface Session {
	principal: Principal;
	signOut: () => void;
}

/** Set by the gate of the session. */
export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
	const session = use(SessionContext);
	if (!session) throw new Error("no session");
	return session;
}

/** Whether the key may do that: `admin` everything, `write` also reading (D30). */
export function mayDo({ scopes }: Principal, scope: Scope): boolean {
	return scopes.includes("admin") || scopes.includes(scope) || (scope === "read" && scopes.includes("write"));
}

export function useMay(scope: Scope): boolean {
	return mayDo(useSession().principal, scope);
}
