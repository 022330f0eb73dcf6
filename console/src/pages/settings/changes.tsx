/** What is about to be saved: each setting as it is and as it will be. */
import type { ReactNode } from "react";
import { Confirm } from "../../parts/dialog.tsx";
import { T } from "../../text/text.ts";

export interface Change {
	/** The setting's name in the API. */
	name: string;
	before: string;
	after: string;
}

export function Changes({
	changes,
	replacing,
	save,
	close,
}: {
	changes: readonly Change[];
	/** Running workers are replaced. */
	replacing: boolean;
	save: () => Promise<unknown>;
	close: () => void;
}): ReactNode {
	return (
		<Confirm title={T.settings.changes.title} act={T.settings.changes.save} doing={save} close={close} wide>
			<div className="limits-scroll">
				<table className="changes">
					<thead>
						<tr>
							<th scope="col">{T.settings.changes.setting}</th>
							<th scope="col">{T.settings.changes.before}</th>
							<th scope="col">{T.settings.changes.after}</th>
						</tr>
					</thead>
					<tbody>
						{changes.map(({ name, before, after }) => (
							<tr key={name}>
								<th scope="row">
									<code>{name}</code>
								</th>
								<td>
									<del>{before}</del>
								</td>
								<td>
									<ins>{after}</ins>
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
			{replacing ? <p className="reason">{T.settings.changes.replacing}</p> : null}
		</Confirm>
	);
}
