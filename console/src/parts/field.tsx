/** Fields of forms: a label, what it means, and what is wrong with it. */
import { type ReactNode, useId } from "react";
import {
	Checkbox as AriaCheckbox,
	Button,
	FieldError,
	Input,
	Label,
	ListBox,
	ListBoxItem,
	Popover,
	Radio,
	RadioGroup,
	Select as AriaSelect,
	SelectValue,
	Switch as AriaSwitch,
	Text,
	TextArea,
	TextField as AriaTextField,
} from "react-aria-components";
import { CodeArea } from "./values/code-area.tsx";
import { Icon } from "./icons.tsx";

interface TextProps {
	label: string;
	/** The name in the API, shown next to the label. */
	api?: string | undefined;
	value: string;
	onChange: (value: string) => void;
	/** What it is for, its unit, its default. */
	hint?: string | undefined;
	/** What is wrong. */
	fault?: string | undefined;
	/** The least number of lines, if more than one. */
	lines?: number;
	mono?: boolean;
	/** Across the whole form, as high as its text. */
	wide?: boolean;
	/** Colours for code; only with `lines`. */
	code?: boolean;
	type?: "text" | "password" | "search";
	unit?: string | undefined;
	number?: boolean;
	placeholder?: string | undefined;
	disabled?: boolean;
	autoFocus?: boolean;
	autoComplete?: string;
	/** The label is for assistive technology only. */
	bare?: boolean;
	/** Ctrl-Enter or Cmd-Enter was pressed; with `enterSends`, Enter without Shift. */
	onSend?: () => void;
	enterSends?: boolean;
	/** Its value was changed. */
	marked?: boolean;
	/** Values to choose from; others may be typed. */
	suggestions?: readonly string[] | undefined;
}

export function TextField({
	onSend,
	enterSends = false,
	suggestions,
	label,
	api,
	value,
	onChange,
	hint,
	fault,
	lines,
	mono = false,
	wide = false,
	code = false,
	type = "text",
	unit,
	number = false,
	placeholder,
	disabled = false,
	autoFocus = false,
	autoComplete = "off",
	bare = false,
	marked = false,
}: TextProps): ReactNode {
	const list = useId();
	const shared = {
		className: mono || number ? "input mono" : "input",
		...(placeholder === undefined ? {} : { placeholder }),
	};
	const named = bare ? { "aria-label": label } : {};
	return (
		<AriaTextField
			className={["field", marked && "marked", wide && "wide"].filter(Boolean).join(" ")}
			value={value}
			onChange={onChange}
			type={type}
			isInvalid={fault !== undefined}
			isDisabled={disabled}
			validationBehavior="aria"
			autoComplete={autoComplete}
			autoFocus={autoFocus}
			spellCheck="false"
			{...named}
			{...(onSend
				? {
						onKeyDown: (event: React.KeyboardEvent) => {
							if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
							if (enterSends ? event.shiftKey : !event.ctrlKey && !event.metaKey) return;
							event.preventDefault();
							onSend();
						},
					}
				: {})}
		>
			{bare ? null : <FieldLabel label={label} api={api} />}
			{lines === undefined ? (
				<div className={unit === undefined ? "with-unit none" : "with-unit"}>
					<Input {...shared} {...(number ? { inputMode: "numeric" } : {})} {...(suggestions ? { list } : {})} />
					{suggestions ? (
						<datalist id={list}>
							{suggestions.map((each) => (
								<option key={each} value={each} aria-label={each} />
							))}
						</datalist>
					) : null}
					{unit === undefined ? null : (
						<span className="unit" aria-hidden="true">
							{unit}
						</span>
					)}
				</div>
			) : code ? (
				<CodeArea {...shared} value={value} rows={lines} />
			) : (
				<TextArea {...shared} rows={lines} />
			)}
			{hint === undefined ? null : (
				<Text slot="description" className="hint">
					{hint}
				</Text>
			)}
			<FieldError className="fault">{fault}</FieldError>
		</AriaTextField>
	);
}

export interface Choice {
	id: string;
	name: string;
}

function FieldLabel({ label, api }: { label: string; api: string | undefined }): ReactNode {
	return (
		<Label>
			{label}
			{api === undefined ? null : <code className="api-name"> {api}</code>}
		</Label>
	);
}

export function Select({
	label,
	api,
	value,
	onChange,
	choices,
	hint,
	fault,
	bare = false,
}: {
	label: string;
	api?: string;
	value: string;
	onChange: (value: string) => void;
	choices: readonly Choice[];
	hint?: string | undefined;
	fault?: string | undefined;
	bare?: boolean;
}): ReactNode {
	return (
		<AriaSelect
			className="field"
			value={value}
			onChange={(key) => onChange(String(key))}
			isInvalid={fault !== undefined}
			validationBehavior="aria"
			{...(bare ? { "aria-label": label } : {})}
		>
			{bare ? null : <FieldLabel label={label} api={api} />}
			<Button className="input select">
				<SelectValue />
				<Icon name="down" />
			</Button>
			{hint === undefined ? null : (
				<Text slot="description" className="hint">
					{hint}
				</Text>
			)}
			<FieldError className="fault">{fault}</FieldError>
			<Popover className="popover" offset={4}>
				<ListBox className="list" items={choices}>
					{({ id, name }) => (
						<ListBoxItem className="option" id={id} textValue={name}>
							{name}
						</ListBoxItem>
					)}
				</ListBox>
			</Popover>
		</AriaSelect>
	);
}

/** One of a few, each with what it means. */
export function Choices({
	label,
	value,
	onChange,
	choices,
}: {
	label: string;
	value: string;
	onChange: (value: string) => void;
	choices: readonly (Choice & { means: string })[];
}): ReactNode {
	return (
		<RadioGroup className="radios" value={value} onChange={onChange}>
			<Label>{label}</Label>
			{choices.map(({ id, name, means }) => (
				<Radio key={id} value={id} className="radio">
					<span className="dot" aria-hidden="true" />
					<span>
						<b>{name}</b> <span className="muted">{means}</span>
					</span>
				</Radio>
			))}
		</RadioGroup>
	);
}

export function Checkbox({
	children,
	checked,
	onChange,
	disabled = false,
}: {
	children: ReactNode;
	checked: boolean;
	onChange: (checked: boolean) => void;
	disabled?: boolean;
}): ReactNode {
	return (
		<AriaCheckbox className="checkbox" isSelected={checked} onChange={onChange} isDisabled={disabled}>
			<span className="box" aria-hidden="true">
				<Icon name="check" />
			</span>
			<span>{children}</span>
		</AriaCheckbox>
	);
}

export function Switch({
	children,
	on,
	onChange,
}: {
	children: ReactNode;
	on: boolean;
	onChange: (on: boolean) => void;
}): ReactNode {
	return (
		<AriaSwitch className="switch" isSelected={on} onChange={onChange}>
			<span className="track" aria-hidden="true" />
			<span>{children}</span>
		</AriaSwitch>
	);
}
