package substitute_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/substitute"
)

func values() map[string]string {
	return map[string]string{
		"NAME": "eu-1", "CITY": "Zürich", "CAFE": "café", "COUNT": "3", "EMPTY": "", "VERSION": "v1.34.1", "YES": "yes", "LIST": `["10.0.0.0/8", "b"]`,
		"MAP": "{a: 1}", "DOCS": "a\n---\nkind: Secret", "KEYS": "a\nreplicas: 9", "COMMENT": "a # b", "QUOTED": `"007"`,
		"BOMB": "[&a x, *a]", "HUGE": "1e309", "DOLLAR": "${NAME} $NAME", "FLAG": "true", "NONE": "[]", "FLOAT": "1.5", "COLON": "a: b", "BRACKET": "[a, b",
	}
}

func TestObject(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string // as JSON
		errs   []string
		allow  bool
	}{
		"Number":           {reason: "a scalar of its own has the type of the value", in: "a: ${COUNT}", want: `{"a":3}`},
		"Boolean":          {reason: "booleans too", in: "a: ${FLAG}", want: `{"a":true}`},
		"Float":            {reason: "and fractions", in: "a: ${FLOAT}", want: `{"a":1.5}`},
		"QuotedIsText":     {reason: "quotes around the expression make a text", in: "a: \"${COUNT}\"\nb: '${COUNT}'", want: `{"a":"3","b":"3"}`},
		"AroundIsText":     {reason: "text around the expression makes a text", in: "a: ${COUNT}${COUNT}\nb: 0${COUNT}", want: `{"a":"33","b":"03"}`},
		"YesIsText":        {reason: "words that were booleans in YAML 1.1 are words", in: "a: ${YES}", want: `{"a":"yes"}`},
		"List":             {reason: "brackets make a list", in: "a: ${LIST}", want: `{"a":["10.0.0.0/8","b"]}`},
		"ListForItem":      {reason: "a list takes the place of the item that names it", in: "a:\n- ${LIST}\nb:\n- x\n- ${LIST}\n- z\nc:\n- - ${LIST}\n", want: `{"a":["10.0.0.0/8","b"],"b":["x","10.0.0.0/8","b","z"],"c":[["10.0.0.0/8","b"]]}`},
		"ListEmptyForItem": {reason: "an empty one leaves nothing", in: "b:\n- ${NONE}", want: `{"b":[]}`},
		"ListDefault":      {reason: "and a default", in: "a:\n- ${NO:=[\"10.128.0.0/12\"]}\nb:\n- ${NO:=\"10.0.0.0/8\"}", want: `{"a":["10.128.0.0/12"],"b":["10.0.0.0/8"]}`},
		"ListQuotedItem":   {reason: "an item in quotes stays a text", in: "a: [\"${LIST}\"]", want: `{"a":["[\"10.0.0.0/8\", \"b\"]"]}`},
		"ConfigMapData":    {reason: "all data of a ConfigMap is a mapping of texts", in: "kind: ConfigMap\ndata: ${MAP}", want: `{"data":{"a":"1"},"kind":"ConfigMap"}`},
		"SecretData":       {reason: "of a Secret too", in: "kind: Secret\nstringData: ${MAP}", want: `{"kind":"Secret","stringData":{"a":"1"}}`},
		"Mapping":          {reason: "braces make a mapping", in: "a: ${MAP}", want: `{"a":{"a":1}}`},
		"QuotedValue":      {reason: "quotes in the value are those of YAML", in: "a: ${QUOTED}", want: `{"a":"007"}`},
		"Empty":            {reason: "an empty value leaves nothing", in: "a: ${EMPTY}\nb: \"${EMPTY}\"", want: `{"a":null,"b":""}`},
		"Documents":        {reason: "a value adds no documents", in: "a: ${DOCS}", want: `{"a":"a\n---\nkind: Secret"}`},
		"Keys":             {reason: "a value adds no keys", in: "a: ${KEYS}\nreplicas: 1", want: `{"a":"a\nreplicas: 9","replicas":1}`},
		"Colon":            {reason: "a value that looks like a key is a text", in: "a: ${COLON}", want: `{"a":"a: b"}`},
		"Comment":          {reason: "a value has no comments", in: "a: ${COMMENT}", want: `{"a":"a # b"}`},
		"Aliases":          {reason: "aliases in a value are written out", in: "a: ${BOMB}", want: `{"a":["x","x"]}`},
		"OpenBracket":      {reason: "what is no list is a text", in: "a: ${BRACKET}", want: `{"a":"[a, b"}`},
		"Huge":             {reason: "what JSON cannot hold is a text", in: "a: ${HUGE}", want: `{"a":"1e309"}`},
		"NotAgain":         {reason: "values are not searched again", in: "a: ${DOLLAR}", want: `{"a":"${NAME} $NAME"}`},
		"InFlow":           {reason: "an item of a list", in: "a: [\"${NAME}\", x]", want: `{"a":["eu-1","x"]}`},
		"Literal":          {reason: "a block of text stays one", in: "a: |\n  name ${NAME}\n  end\n", want: `{"a":"name eu-1\nend\n"}`},
		"Key":              {reason: "keys are filled in as texts", in: "${NAME}: x\n${COUNT}: z", want: `{"3":"z","eu-1":"x"}`},
		"KeyTwice":         {reason: "keys must not become equal", in: "${NAME}: x\neu-1: y", errs: []string{`eu-1: the key "eu-1" is there twice after substitution`}},
		"MetadataIsText":   {reason: "names and labels are texts", in: "metadata: {name: x, labels: {a: '', c: x}}\nspec: {c: x}", want: `{"metadata":{"labels":{"a":"","c":"x"},"name":"x"},"spec":{"c":"x"}}`},
		"MetadataNumber":   {reason: "a name of digits is a text", in: "metadata:\n  name: ${COUNT}\nspec: ${COUNT}", want: `{"metadata":{"name":"3"},"spec":3}`},
		"ConfigMapIsText":  {reason: "the data of a ConfigMap are texts", in: "kind: ConfigMap\ndata:\n  a: ${COUNT}", want: `{"data":{"a":"3"},"kind":"ConfigMap"}`},
		"OtherDataIsValue": {reason: "data of other kinds are not", in: "kind: Other\ndata:\n  a: ${COUNT}", want: `{"data":{"a":3},"kind":"Other"}`},
		"Default":          {reason: "a default where there is no value", in: "a: ${NO:=x}\nb: ${NO:-3}\nc: ${NO=y}\nd: ${NO-z}", want: `{"a":"x","b":3,"c":"y","d":"z"}`},
		"DefaultOfEmpty":   {reason: "the colon means empty as well", in: "a: \"${EMPTY:=x}\"\nb: \"${EMPTY=x}\"\nc: \"${EMPTY:-x}\"\nd: \"${EMPTY-x}\"", want: `{"a":"x","b":"","c":"x","d":""}`},
		"DefaultNotUsed":   {reason: "a value wins over the default", in: "a: ${COUNT:=9}", want: `{"a":3}`},
		"DefaultJSON":      {reason: "lists and quotes in defaults, as templates have them", in: "a: ${NO:=[\"10.128.0.0/12\"]}\nb: ${NO:=\"\"}\nc: ${NO:=\"cluster.local\"}", want: `{"a":["10.128.0.0/12"],"b":"","c":"cluster.local"}`},
		"DefaultBraces":    {reason: "braces in a default come in pairs", in: "a: '${NO:={\"k\": {}}}'", want: `{"a":"{\"k\": {}}"}`},
		"DefaultNested":    {reason: "defaults may use variables", in: "a: ${NO:=${COUNT}}\nb: ${NO:=x-${NAME}}", want: `{"a":3,"b":"x-eu-1"}`},
		"Spaces":           {reason: "clusterctl takes spaces around a name", in: "a: ${ NAME }\nb: ${NAME }\nc: '${ NO }'", want: `{"a":"eu-1","b":"eu-1","c":"${ NO }"}`, allow: true},
		"Escape":           {reason: "two dollar signs are one", in: "a: $${NAME}\nb: $$x $$", want: `{"a":"${NAME}","b":"$x $"}`},
		"Dollar":           {reason: "a dollar sign is one", in: "a: $NAME $(x) $\nb: 'cost: 5$'", want: `{"a":"$NAME $(x) $","b":"cost: 5$"}`},
		"TrimEnd":          {reason: "ends are trimmed", in: "a: \"${VERSION%.*}\"\nb: \"${VERSION%%.*}\"\nc: \"${VERSION#v}\"\nd: \"${VERSION##*.}\"\ne: \"${VERSION%x}\"", want: `{"a":"v1.34","b":"v1","c":"1.34.1","d":"1","e":"v1.34.1"}`},
		"TrimCharacter":    {reason: "a character is trimmed whole", in: "a: \"${CAFE%?}\"\nb: \"${CITY#Z?}\"\nc: \"${CITY%%ü*}\"", want: `{"a":"caf","b":"rich","c":"Z"}`},
		"Unset":            {reason: "a variable without a value is named once for an object", in: "a: ${NO}\nb: [x, '-${NO}', '${ALSO}']", errs: []string{"a: the variable NO has no value", "b[2]: the variable ALSO has no value"}},
		"AllowUnset":       {reason: "it may be left standing", in: "a: ${NO}\nb: '${NO%x} ${NAME}'", want: `{"a":"${NO}","b":"${NO%x} eu-1"}`, allow: true},
		"Unsupported":      {reason: "other expressions are refused", in: "a: ${NAME/a/b}\nb: ${#NAME}\nc: ${NAME^^}\nd: ${NAME:+x}\ne: ${1}\nf: ${}", errs: []string{"a: the expression ${NAME/a/b} is not supported", "b: the expression ${#NAME} is not supported", "c: the expression ${NAME^^} is not supported", "d: the expression ${NAME:+x} is not supported", "e: the expression ${1} is not supported", "f: the expression ${} is not supported"}, allow: true},
		"Open":             {reason: "an expression needs an end", in: "a: x ${NAME", errs: []string{"a: the expression ${NAME is not closed"}},
		"Deep":             {reason: "defaults are not nested without end", in: "a: '" + strings.Repeat("${NO:=", 20) + strings.Repeat("}", 20) + "'", errs: []string{"a: expressions are nested too deep"}},
		"Disabled":         {reason: "an object may be left alone", in: "metadata: {annotations: {fairlead.dev/substitute: disabled}}\na: ${NAME} ${NO} $$", want: `{"a":"${NAME} ${NO} $$","metadata":{"annotations":{"fairlead.dev/substitute":"disabled"}}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := documents.Parse([]byte(tc.in), documents.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			s := &substitute.Substituter{Values: values(), AllowUnset: tc.allow}
			var errs []string
			for _, e := range s.Object(f.Documents[0]) {
				if e.Hint == "" {
					t.Errorf("%s: no hint for %q", tc.reason, e.Message)
				}
				errs = append(errs, e.Field+": "+e.Message)
			}
			if diff := cmp.Diff(tc.errs, errs); diff != "" {
				t.Fatalf("%s: errors: -want, +got:\n%s", tc.reason, diff)
			}
			if errs != nil {
				return
			}
			if diff := cmp.Diff(tc.want, toJSON(t, f.Documents[0])); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Two dollar signs that become one, and escape nothing, are reported.
func TestDoubled(t *testing.T) {
	for in, want := range map[string]string{
		"a: x\nb: /tmp/x.$$":       "b",
		"a: {b: [x, pa$$word]}":    "a.b[1]",
		"a: /tmp/x.$$\nb: ${NAME}": "a",
		"a: ${NAME}$$":             "a",
		"a: $${NAME}":              "",
		"a: $$$$":                  "",
		"a: $$$$$$":                "a",
		"a: $$$${NAME}":            "",
		"a: $NAME $(x) $":          "",
		"metadata: {annotations: {fairlead.dev/substitute: disabled}}\na: $$": "",
	} {
		f, err := documents.Parse([]byte(in), documents.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		s := &substitute.Substituter{Values: values(), Doubled: func(field string) { got = field }}
		if errs := s.Object(f.Documents[0]); len(errs) > 0 || got != want {
			t.Errorf("%s: got %q %v, want %q", in, got, errs, want)
		}
	}
}

// toJSON returns n as a decoder of Kubernetes reads it.
func toJSON(t *testing.T, n *yaml.Node) string {
	t.Helper()
	data, err := documents.Marshal([]*yaml.Node{n})
	if err != nil {
		t.Fatal(err)
	}
	j, err := k8syaml.YAMLToJSON(data)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, data)
	}
	return string(j)
}

// Values that multiply are stopped before they fill the memory.
func TestObjectBudget(t *testing.T) {
	f, err := documents.Parse([]byte("a: ["+strings.Repeat("'${BIG}',", 1000)+"x]"), documents.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	s := &substitute.Substituter{Values: map[string]string{"BIG": strings.Repeat("x", 1<<20)}}
	errs := s.Object(f.Documents[0])
	if len(errs) == 0 || !strings.Contains(errs[0].Message, "more than 16777216 bytes") {
		t.Errorf("got %v, want the budget as an error", errs)
	}
}

// FuzzSubstitute holds that substitution never changes the shape of an object
// but where an expression stands alone, and that what it writes can be read.
func FuzzSubstitute(f *testing.F) {
	for _, text := range []string{"${A}", "x${A:=${B}}", "$${A}", "${A%.*}", "${A/b}", "${", "$", "${A:=[\"x\"]}"} {
		f.Add(text, "a\n---\nb: c")
		f.Add(text, "[1, {a: b}]")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "plain"},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: text},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "quoted"},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "last"},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "x"},
		}}
		s := &substitute.Substituter{Values: map[string]string{"A": value}}
		if errs := s.Object(root); len(errs) > 0 {
			return
		}
		data, err := documents.Marshal([]*yaml.Node{root})
		if err != nil {
			return // text that YAML cannot hold
		}
		parsed, err := documents.Parse(data, documents.DefaultLimits())
		if err != nil {
			t.Skip() // control characters, sizes
		}
		if len(parsed.Documents) != 1 || len(parsed.Documents[0].Content) != 6 {
			t.Fatalf("%q with %q changed the shape:\n%s", text, value, data)
		}
		if q := parsed.Documents[0].Content[3]; q.Kind != yaml.ScalarNode || q.ShortTag() != "!!str" {
			t.Fatalf("%q with %q: a quoted scalar is no text any more:\n%s", text, value, data)
		}
	})
}
