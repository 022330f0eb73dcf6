// Renders a chart as `helm template` does, with what Debian packages of Helm's own parts: Go's text/template,
// sprig and sigs.k8s.io/yaml. scripts/chart.ts runs it.
//
//	apt-get install golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev
//	GO111MODULE=off GOPATH=/usr/share/gocode go run scripts/helm-template.go CHART RELEASE NAMESPACE < values.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

// Values of the caller over those of the chart; null removes.
func merge(over, under object) object {
	for name, value := range over {
		below, nested := under[name].(object)
		if above, ok := value.(object); ok && nested {
			under[name] = merge(above, below)
		} else if value == nil {
			delete(under, name)
		} else {
			under[name] = value
		}
	}
	return under
}

func numbers(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }

func read(path string) (found object) {
	text, err := os.ReadFile(path)
	check(err)
	check(yaml.Unmarshal(text, &found, numbers))
	return found
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func toYaml(value interface{}) (string, error) {
	text, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(text), "\n"), err
}

func main() {
	folder, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	var given object
	check(numbers(json.NewDecoder(os.Stdin)).Decode(&given))
	chart := object{}
	for name, value := range read(filepath.Join(folder, "Chart.yaml")) {
		chart[strings.ToUpper(name[:1])+name[1:]] = value
	}
	data := object{
		"Chart":   chart,
		"Values":  merge(given, read(filepath.Join(folder, "values.yaml"))),
		"Release": object{"Name": release, "Namespace": namespace, "Service": "Helm"},
	}

	all := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	functions["toYaml"] = toYaml
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	all.Funcs(functions)

	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	check(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		_, err = all.New(filepath.Base(path)).Parse(string(text))
		check(err)
	}
	rendered := map[string]string{}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		check(all.ExecuteTemplate(&text, name, data))
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	check(json.NewEncoder(os.Stdout).Encode(rendered))
}
