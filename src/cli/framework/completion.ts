/** `sluice completion`: completion scripts for shells (D36). */
import { type Action, type Command, flagsOf } from "./command.ts";
import { CliError } from "../client/errors.ts";
import { shellQuoted } from "../../kernel/lib/text.ts";

/** What may follow `path`, which is empty for `sluice` alone. */
interface Level {
	path: string;
	words: readonly Word[];
	flags: readonly Word[];
}

interface Word {
	name: string;
	summary: string;
	value?: string | undefined;
}

const SHELLS: Readonly<Record<string, (levels: readonly Level[]) => string>> = { bash, zsh, fish };

export function completionCommand(commands: () => readonly Command[]): Action {
	return {
		name: "completion",
		summary: "print a script with which bash, zsh or fish completes commands and flags",
		args: ["SHELL"],
		local: true,
		flags: {},
		examples: [
			"source <(sluice completion bash)  # in ~/.bashrc",
			"source <(sluice completion zsh)  # in ~/.zshrc, after compinit",
			"sluice completion fish > ~/.config/fish/completions/sluice.fish",
		],
		async run({ args: [shell = ""] }) {
			const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
			if (!script) throw new CliError(`SHELL must be one of ${Object.keys(SHELLS).join(", ")}, not '${shell}'.`);
			process.stdout.write(script(levelsOf(commands())));
			return 0;
		},
	};
}

function levelsOf(commands: readonly Command[]): Level[] {
	return [
		{
			path: "",
			words: [...commands, { name: "help", summary: "explain a command" }],
			flags: [{ name: "--version", summary: "print the version" }],
		},
		{ path: "help", words: commands, flags: [] },
		...commands.flatMap(levelsOfCommand),
	];
}

function levelsOfCommand(command: Command): Level[] {
	if (!("actions" in command)) return [levelOfAction(command, command.name)];
	const { name, actions } = command;
	const list = actions.find((each) => each.name === "list");
	return [
		{ path: name, words: actions, flags: list ? levelOfAction(list, name).flags : [] },
		...actions.map((each) => levelOfAction(each, `${name} ${each.name}`)),
	];
}

function levelOfAction(action: Action, path: string): Level {
	const flags = Object.entries(flagsOf(action)).map(([flag, { summary, value }]) => ({
		name: `--${flag}`,
		summary,
		value,
	}));
	const shells = Object.keys(SHELLS).map((name) => ({ name, summary: `for ${name}` }));
	return {
		path,
		words: action.name === "completion" ? shells : [],
		flags: [...flags, { name: "--help", summary: "explain the command" }],
	};
}

const pathsOf = (levels: readonly Level[]): string[] => levels.flatMap(({ path }) => (path === "" ? [] : [path]));

const namesOf = (words: readonly Word[]): string => words.map(({ name }) => name).join(" ");

function bash(levels: readonly Level[]): string {
	const cases = levels.map(
		({ path, words, flags }) =>
			`\t\t${shellQuoted(path)}) words=${shellQuoted(namesOf(words))} flags=${shellQuoted(namesOf(flags))} ;;\n`,
	);
	return `# bash completion of sluice
_sluice() {
	local cur=\${COMP_WORDS[COMP_CWORD]} path= word words= flags= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=\${COMP_WORDS[i]}
		case "\${path:+$path }$word" in
		${pathsOf(levels).map(shellQuoted).join(" | ")}) path="\${path:+$path }$word" ;;
		esac
	done
	case $path in
${cases.join("")}	esac
	if [[ $cur == -* ]]; then words=$flags; fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _sluice sluice
`;
}

function zsh(levels: readonly Level[]): string {
	const described = (all: readonly Word[]): string =>
		all.map(({ name, summary }) => shellQuoted(`${name.replaceAll(":", "\\:")}:${summary}`)).join(" ");
	const cases = levels.map(
		({ path, words, flags }) =>
			`\t\t(${shellQuoted(path)}) found=(${described(words)}) flags=(${described(flags)}) ;;\n`,
	);
	return `#compdef sluice
# zsh completion of sluice
_sluice() {
	local -a found flags
	local path_= word
	for word in "\${(@)words[2,CURRENT-1]}"; do
		case "\${path_:+$path_ }$word" in
		(${pathsOf(levels).map(shellQuoted).join("|")}) path_="\${path_:+$path_ }$word" ;;
		esac
	done
	case $path_ in
${cases.join("")}	esac
	if [[ $words[CURRENT] == -* ]]; then
		_describe -o option flags
	elif (( $#found )); then
		_describe command found
	else
		_files
	fi
}
if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`;
}

function fish(levels: readonly Level[]): string {
	const lines = levels.flatMap(({ path, words, flags }) => {
		const at = `complete -c sluice -n ${shellQuoted(`__sluice_at ${path}`)}`;
		return [
			...words.map(({ name, summary }) => `${at} -f -a ${name} -d ${fishQuoted(summary)}`),
			...flags.map(
				({ name, summary, value }) => `${at} ${value ? "-r " : ""}-l ${name.slice(2)} -d ${fishQuoted(summary)}`,
			),
		];
	});
	return `# fish completion of sluice
function __sluice_at
	set -l at
	for word in (commandline -opc)[2..-1]
		contains -- (string join ' ' -- $at $word) ${pathsOf(levels).map(shellQuoted).join(" ")}
		and set -a at $word
	end
	test "$at" = "$argv"
end
${lines.join("\n")}
`;
}

function fishQuoted(text: string): string {
	return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
