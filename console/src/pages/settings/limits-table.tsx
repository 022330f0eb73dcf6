/** The limits of an endpoint: a row for each operation, then single numbers. */
import type { ReactNode } from "react";
import { Switch, TextField } from "../../parts/field.tsx";
import { defaultOf, type FormField, nameOf, type Typed } from "./settings-form.ts";
import { T } from "../../text/text.ts";
import { SettingField } from "./setting-field.tsx";

const COLUMNS = ["per10s", "concurrent"] as const;

export function LimitsTable({
	fields,
	off,
	setOff,
	typed,
	faultOf,
	onChange,
}: {
	fields: readonly FormField[];
	off: boolean;
	setOff: (off: boolean) => void;
	typed: Typed;
	faultOf: (name: string) => string | undefined;
	onChange: (name: string, text: string) => void;
}): ReactNode {
	const operations = [...new Set(fields.filter(isOfOperation).map(({ path }) => path[1]!))];
	const cell = (operation: string, column: (typeof COLUMNS)[number]): ReactNode => {
		const field = fields.find((each) => nameOf(each) === `limits.${operation}.${column}`)!;
		const name = nameOf(field);
		return (
			<td key={column}>
				<TextField
					bare
					label={`${operation}: ${T.settings.limits[column]}`}
					value={typed[name] ?? field.value}
					onChange={(text) => onChange(name, text)}
					placeholder={defaultOf(field)}
					fault={faultOf(name)}
					number
				/>
			</td>
		);
	};
	return (
		<div className="stack">
			<Switch on={!off} onChange={(on) => setOff(!on)}>
				{T.settings.limits.on}
			</Switch>
			{off ? null : (
				<>
					<p className="hint">{T.settings.limits.how}</p>
					<div className="limits-scroll">
						<table className="limits">
							<thead>
								<tr>
									<th scope="col">{T.settings.limits.operation}</th>
									{COLUMNS.map((column) => (
										<th key={column} scope="col">
											{T.settings.limits[column]} <code className="api-name">{column}</code>
										</th>
									))}
								</tr>
							</thead>
							<tbody>
								{operations.map((operation) => (
									<tr key={operation}>
										<th scope="row">
											<code>{operation}</code>
										</th>
										{COLUMNS.map((column) => cell(operation, column))}
									</tr>
								))}
							</tbody>
						</table>
					</div>
					<div className="form-grid">
						{fields
							.filter((field) => !isOfOperation(field))
							.map((field) => (
								<SettingField
									key={nameOf(field)}
									field={field}
									value={typed[nameOf(field)] ?? field.value}
									fault={faultOf(nameOf(field))}
									onChange={(text) => onChange(nameOf(field), text)}
								/>
							))}
					</div>
				</>
			)}
		</div>
	);
}

const isOfOperation = ({ path }: FormField): boolean => path.length > 2;
