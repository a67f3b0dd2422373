package topology

import (
	"runtime"
	"strings"
	"testing"
)

// evaluate runs a template as a patch would.
func evaluate(text string, data map[string]any) (string, error) {
	e := newEngine()
	e.budget = &budget{left: maxWork}
	out, err := e.value(text, data)
	return string(out), err
}

func TestTemplates(t *testing.T) {
	data := map[string]any{
		"name": "eu", "count": float64(3), "many": float64(1000000), "flag": true,
		"list": []any{"a", "b"}, "map": map[string]any{"z": "1", "a": "2", "m": "3"},
	}
	cases := map[string]struct{ reason, in, want, err string }{
		"text":           {reason: "plain text is a YAML string", in: "node-{{ .name }}", want: `"node-eu"`},
		"number":         {reason: "numbers stay numbers", in: "{{ .count }}", want: `3`},
		"large number":   {reason: "numbers are float64 as in Cluster API, and print like it", in: "{{ .many }}", want: `1000000`},
		"boolean":        {reason: "what is true is true", in: "{{ .flag }}", want: `true`},
		"words":          {reason: "YAML is read as Cluster API reads it", in: "yes", want: `true`},
		"list":           {reason: "lists of YAML", in: "{{ range .list }}\n- {{ . }}{{ end }}", want: `["a","b"]`},
		"object":         {reason: "objects of YAML", in: "a: {{ .name }}\nb: [{{ .count }}]", want: `{"a":"eu","b":[3]}`},
		"nothing":        {reason: "an empty template is null", in: "{{ if false }}x{{ end }}", want: `null`},
		"missing in if":  {reason: "a variable that is not there is false", in: "{{ if .nothing }}true{{ end }}", want: `null`},
		"missing":        {reason: "a variable that is not there is no text", in: "x-{{ .nothing }}", err: "a variable that has no value"},
		"missing below":  {reason: "nothing has no fields", in: "{{ .nothing.more }}", err: "a variable that has no value"},
		"sprig":          {reason: "Sprig's functions are there", in: `{{ .name | upper | quote }}`, want: `"EU"`},
		"semver":         {reason: "versions", in: `{{ (semver "v1.34.1").Minor }}`, want: `34`},
		"keys":           {reason: "keys come in order", in: `{{ keys .map | join "," }}`, want: `"a,m,z"`},
		"values":         {reason: "values come in the order of their keys", in: `{{ values .map | join "," | quote }}`, want: `"2,3,1"`},
		"duplicate":      {reason: "a key twice is a mistake", in: "a: 1\na: 2", err: "already set in map"},
		"no yaml":        {reason: "what is no YAML is said", in: "a: b: c", err: "what it prints is not YAML"},
		"alias":          {reason: "aliases are refused", in: "a: &a [1]\nb: *a", err: "prints a YAML alias"},
		"ampersands":     {reason: "& and * in text are text", in: `"a & b * c"`, want: `"a \u0026 b * c"`},
		"environment":    {reason: "the machine is not asked", in: `{{ env "HOME" }}`, err: `function "env" not defined`},
		"expand":         {reason: "the machine is not asked", in: `{{ expandenv "$HOME" }}`, err: `function "expandenv" not defined`},
		"clock":          {reason: "the clock is not asked", in: `{{ now }}`, err: `function "now" not defined`},
		"age":            {reason: "the clock is not asked", in: `{{ ago "x" }}`, err: `function "ago" not defined`},
		"time zone":      {reason: "the time zone is not asked", in: `{{ toDate "2006" "2020" }}`, err: `function "toDate" not defined`},
		"network":        {reason: "the network is not asked", in: `{{ getHostByName "x" }}`, err: `function "getHostByName" not defined`},
		"random":         {reason: "nothing is random", in: `{{ uuidv4 }}`, err: `function "uuidv4" not defined`},
		"random letters": {reason: "nothing is random", in: `{{ randAlpha 3 }}`, err: `function "randAlpha" not defined`},
		"shuffle":        {reason: "nothing is random", in: `{{ shuffle "abc" }}`, err: `function "shuffle" not defined`},
		"keys of TLS":    {reason: "nothing is random", in: `{{ genPrivateKey "rsa" }}`, err: `function "genPrivateKey" not defined`},
		"address":        {reason: "addresses are others each time", in: `{{ printf "%-5p" .map }}`, err: "another one each time"},
		"address within": {reason: "so are those of versions in lists", in: `{{ printf "%d" (list (semver "1.2.3")) }}`, err: "may print as an address"},
		"percent p":      {reason: "%% is a percent sign", in: `{{ printf "100%%p %v %s" .map (semver "1.2.3") }}`, want: `"100%p map[a:2 m:3 z:1] 1.2.3"`},
		"salt":           {reason: "nothing is random", in: `{{ htpasswd "a" "b" }}`, err: `function "htpasswd" not defined`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := evaluate(tc.in, data)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: got %q, %v, want an error with %q", tc.reason, got, err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("%s: got %s, %v, want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}

// A template that takes too much time or memory is refused, whatever it does.
func TestHostileTemplates(t *testing.T) {
	cases := map[string]string{
		"long text":            `{{ repeat 1000000000 "x" }}`,
		"doubled text":         `{{ $x := "xxxxxxxx" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}{{ $x }}`,
		"doubled list":         `{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}`,
		"doubled map":          `{{ $x := dict "a" 1 }}{{ range until 60 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ toPrettyJson $x }}`,
		"long loop":            `{{ range 1000000000000 }}{{ end }}`,
		"loop in loop":         `{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`,
		"loop in a branch":     `{{ range until 10000 }}{{ if true }}{{ with 1 }}{{ range 1000000000000 }}{{ end }}{{ end }}{{ end }}{{ end }}`,
		"loop in else":         `{{ if false }}{{ else }}{{ range 1000000000000 }}{{ else }}{{ end }}{{ end }}`,
		"loop in a definition": `{{ define "a" }}{{ range 1000000000000 }}{{ end }}{{ end }}{{ template "a" }}`,
		"list of numbers":      `{{ until 1000000000 }}`,
		"negative numbers":     `{{ until -1000000000 }}`,
		"steps":                `{{ untilStep 0 1000000000 1 }}`,
		"overflow":             `{{ untilStep 9223372036854775000 9223372036854775807 1000 }}`,
		"sequence":             `{{ seq 1 1000000000 }}`,
		"recursion":            `{{ define "a" }}{{ template "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
		"deep recursion":       `{{ define "a" }}` + strings.Repeat(`{{ with 1 }}`, 50) + `{{ template "a" }}` + strings.Repeat(`{{ end }}`, 50) + `{{ end }}{{ template "a" }}`,
		"deep loops":           strings.Repeat(`{{ range 1000 }}`, 20_000) + strings.Repeat(`{{ end }}`, 20_000),
		"wide numbers":         `{{ printf "%1000000d%1000000d%1000000d" 1 1 1 }}`,
		"wide by argument":     `{{ printf "%*d%*d%*d" 1000000 1 1000000 1 1000000 1 }}`,
		"repeated argument":    `{{ $x := repeat 10000 "x" }}{{ printf (repeat 10000 "%[1]s") $x }}`,
		"indent":               `{{ indent 1000000000 "a\nb" }}`,
		"nindent":              `{{ nindent 1000000000 "a" }}`,
		"replace nothing":      `{{ replace "" (repeat 10000 "x") (repeat 10000 "y") }}`,
		"join":                 `{{ join (repeat 10000 "x") (until 1000) }}`,
		"wrap":                 `{{ wrapWith 1 (repeat 10000 "x") (repeat 10000 "y") }}`,
		"regular expression":   `{{ regexMatch "((a{100}){10})b" (repeat 100000 "a") }}`,
		"replaced matches":     `{{ regexReplaceAll "" (repeat 10000 "x") (repeat 10000 "y") }}`,
		"comparisons":          `{{ range until 1000 }}{{ $x := uniq (until 4000) }}{{ end }}`,
		"map in itself":        `{{ $_ := set . "self" . }}{{ . }}`,
		"merged in itself":     `{{ $m := dict }}{{ $n := dict "m" $m }}{{ $_ := merge $m $n }}{{ $m }}`,
		"much output":          `{{ range until 10000 }}` + strings.Repeat("0123456789", 100) + `{{ end }}`,
		"much work":            `{{ range until 10000 }}{{ $x := sha256sum (repeat 10000 "x") }}{{ end }}`,
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := evaluate(text, map[string]any{})
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("it gives %d bytes", len(out))
			}
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
				t.Errorf("it took %d MB", n>>20)
			}
		})
	}
}
