/**
 * What stands where there is nothing to show: why, and the next step; and refusals with their code
 * and details (D2).
 */
import type { ReactNode } from "react";
import type { Failure } from "../client/api.ts";
import { T } from "../text/text.ts";
import { Button } from "./button.tsx";

export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
	return (
		<div className="empty">
			<p className="empty-title">{title}</p>
			{children === undefined ? null : <div className="empty-next">{children}</div>}
		</div>
	);
}

/** `plain`: without the code, where no program is involved. */
export function Refusal({
	failure,
	again,
	plain = false,
}: {
	failure: Failure;
	again?: () => void;
	plain?: boolean;
}): ReactNode {
	return (
		<div className="refusal" role="alert">
			<p>
				{failure.message} {plain ? null : <code>{failure.code}</code>}
			</p>
			{failure.details.length === 0 ? null : (
				<ul>
					{failure.details.map(({ field, message }) => (
						<li key={field + message}>
							<code>{field}</code> {message}
						</li>
					))}
				</ul>
			)}
			{again ? (
				<Button icon="retry" onPress={again}>
					{T.again}
				</Button>
			) : null}
		</div>
	);
}

export function Loading(): ReactNode {
	return (
		<p className="loading" role="status">
			{T.loading}
		</p>
	);
}
