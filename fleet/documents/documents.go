package documents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// Limits bound one file.
type Limits struct {
	Bytes     int // of the file
	Documents int
	Nodes     int // keys, values and items, with aliases expanded
	Depth     int // of nesting
	Expanded  int // bytes of keys and values, with aliases expanded
}

// DefaultLimits are far above what people write by hand or generate for one
// cluster, and low enough that a file at the limit costs some tens of megabytes.
func DefaultLimits() Limits {
	return Limits{Bytes: 2 << 20, Documents: 1000, Nodes: 50_000, Depth: 100, Expanded: 4 << 20}
}

// AddonLimits are for manifests that ClusterResourceSets bring into clusters: as large as
// a release of an operator with the definitions of its kinds.
func AddonLimits() Limits {
	return Limits{Bytes: 4 << 20, Documents: 2000, Nodes: 200_000, Depth: 100, Expanded: 4 << 20}
}

// BuiltLimits are for what the program itself wrote out of files that were within theirs.
func BuiltLimits() Limits {
	return Limits{Bytes: 64 << 20, Documents: 10_000, Nodes: 2_000_000, Depth: 200, Expanded: 64 << 20}
}

// A Refusal says why a file is not read. Line is 0 where no line is to blame.
type Refusal struct {
	Line    int
	Message string
	Hint    string
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Line > 0 {
		return fmt.Sprintf("line %d: %s", r.Line, r.Message)
	}
	return r.Message
}

// A File is the content of one YAML file.
type File struct {
	Documents []*yaml.Node // the root value of each document that is not empty
	Plain     []byte       // the same content in plain UTF-8, without aliases and merge keys
}

var utf8BOM = []byte("\xef\xbb\xbf") //nolint:gochecknoglobals // a constant that Go cannot write as one

// Parse reads data. The error is always a *Refusal.
func Parse(data []byte, l Limits) (*File, error) {
	if err := checkBytes(data, l); err != nil {
		return nil, err
	}
	plain := bytes.TrimPrefix(data, utf8BOM)
	f, err := parse(plain, l, 0)
	if text, marked := "", 0; err != nil && loneList.Match(plain) {
		if text, marked = unbracketed(string(plain)); marked > 0 && checkBytes([]byte(text), l) == nil {
			if other, bad := parse([]byte(text), l, marked); bad == nil {
				return other, nil
			}
		}
	}
	return f, err
}

// parse reads plain, in which so many texts are marked. Where it finds another number the
// file is refused: what was marked is in a text.
func parse(plain []byte, l Limits, marked int) (*File, error) {
	p := &parser{limits: l, rewritten: marked > 0}
	f := &File{Plain: plain}
	found := 0
	dec := yaml.NewDecoder(bytes.NewReader(plain))
	for {
		var doc yaml.Node
		err := decode(dec, &doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r := syntax(err)
			if line := indentedByTab(plain, r.Line); line > 0 {
				return nil, &Refusal{Line: line, Message: "a tab indents the line", Hint: "YAML is indented with spaces: replace the tab"}
			}
			if loneVariable.Match(plain) {
				r.Hint = "a ${VARIABLE} cannot stand for whole lines: write out what it stands for"
			}
			return nil, r
		}
		if marked > 0 {
			found += unmark(&doc)
		}
		root, err := p.document(&doc)
		if err != nil {
			return nil, err
		}
		if root != nil {
			f.Documents = append(f.Documents, root)
		}
	}
	if found != marked {
		return nil, &Refusal{Message: "a list of variables in brackets stands in a text"}
	}
	if !p.rewritten {
		return f, nil
	}
	out, err := Marshal(f.Documents)
	if err != nil {
		return nil, &Refusal{Message: "cannot be written without its aliases: " + err.Error()}
	}
	f.Plain = out
	return f, nil
}

// Marshal writes documents as a YAML stream, which parsers of YAML 1.1 and 1.2 read alike: it
// quotes texts that YAML 1.1 takes for booleans, as kubectl kustomize does.
func Marshal(docs []*yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	for _, d := range docs {
		quoteWords(d)
		if err := enc.Encode(d); err != nil {
			return nil, err
		}
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// quoteWords quotes the texts at and below n that YAML 1.1 takes for booleans.
func quoteWords(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && booleanWord.MatchString(n.Value) && n.ShortTag() == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		quoteWords(c)
	}
}

// booleanWord matches what is a boolean in YAML 1.1 and a text in YAML 1.2.
var booleanWord = regexp.MustCompile(`^(?i:y|yes|on|n|no|off)$`)

// decode turns a panic of the parser into an error.
func decode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser failed: %v", r)
		}
	}()
	return dec.Decode(n)
}

// checkBytes refuses what should not even be parsed.
func checkBytes(data []byte, l Limits) error {
	if len(data) > l.Bytes {
		return TooLarge(int64(len(data)), l)
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) || bytes.IndexByte(data, 0) >= 0 {
		return &Refusal{Message: "the file is UTF-16 or binary", Hint: "save it as UTF-8"}
	}
	if !utf8.Valid(data) {
		return &Refusal{Message: "the file is not UTF-8", Hint: "save it as UTF-8"}
	}
	if n := 1 + bytes.Count(data, []byte("\n---")); n > l.Documents {
		return &Refusal{Message: fmt.Sprintf("the file has more than %d documents", l.Documents), Hint: "split the file"}
	}
	// Each node but the last of its collection costs one of these bytes, so
	// their number bounds what the parser will build.
	nodes, deepest := estimate(data)
	if nodes > 4*l.Nodes {
		return tooMany(0, l)
	}
	if deepest > 20*l.Depth {
		return tooDeep(0, l)
	}
	return nil
}

// estimate returns how many nodes data has at most, before aliases are expanded,
// and how deep its flow collections are nested at most.
func estimate(data []byte) (nodes, deepest int) {
	nodes = 1
	depth := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
			nodes++
		case ']', '}':
			depth = max(0, depth-1)
		case ',', ':', '-', '?', '\n', '\r':
			nodes++
		}
	}
	return nodes, deepest
}

// TooLarge is the refusal of a file of size bytes, for callers that know the
// size before they read it.
func TooLarge(size int64, l Limits) *Refusal {
	return &Refusal{
		Message: fmt.Sprintf("the file has %d bytes, more than the %d that are read", size, l.Bytes),
		Hint:    "split the file, or keep what is not a manifest elsewhere",
	}
}

func tooMany(line int, l Limits) *Refusal {
	return &Refusal{Line: line, Message: fmt.Sprintf("the content has more than %d keys, values and items, with aliases expanded", l.Nodes), Hint: "split the file; check for aliases of aliases"}
}

func tooLong(line int, l Limits) *Refusal {
	return &Refusal{Line: line, Message: fmt.Sprintf("the content has more than %d bytes, with aliases expanded", l.Expanded), Hint: "write the content in the place of the aliases"}
}

func tooDeep(line int, l Limits) *Refusal {
	return &Refusal{Line: line, Message: fmt.Sprintf("the content is nested more than %d levels deep", l.Depth), Hint: "flatten it"}
}

// indentedByTab returns the line that is indented with a tab, among the line that the parser
// cannot read and its neighbors: the parser may count one line more or less. It returns 0 if
// there is none.
func indentedByTab(plain []byte, bad int) int {
	n := 0
	for line := range bytes.Lines(plain) {
		n++
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if n >= bad-1 && n <= bad+1 && bytes.ContainsRune(indent, '\t') {
			return n
		}
	}
	return 0
}

// loneVariable matches a line that is nothing but a variable, which templates
// that are filled in before they are parsed may have.
var loneVariable = regexp.MustCompile(`(?m)^\$\{[^}\n]*\}\s*$`)

// loneList tells whether there may be a list in brackets with variables.
var loneList = regexp.MustCompile(`\[[^\]\n]*\$\{`)

var lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax turns an error of the parser into a refusal.
func syntax(err error) *Refusal {
	text := err.Error()
	m := lineOf.FindStringSubmatch(text)
	r := &Refusal{Message: "the file is not valid YAML: " + strings.TrimPrefix(text, "yaml: ")}
	if m != nil {
		r.Line, _ = strconv.Atoi(m[1])
		r.Message = "the file is not valid YAML: " + text[len(m[0]):]
	}
	if strings.Contains(text, "max depth") {
		r.Message = "the content is nested too deep"
	}
	return r
}

// A flatError is an error of a library on one line, as all errors of this package are:
// people read it in a list, in a table or in a log.
type flatError struct{ error }

// Error implements error.
func (f flatError) Error() string { return OneLine(f.error) }

// Unwrap returns the error with its lines.
func (f flatError) Unwrap() error { return f.error }

// flat returns err on one line; nil stays nil.
func flat(err error) error {
	if err == nil {
		return nil
	}
	return flatError{err}
}

// OneLine returns the text of err on one line, without control characters, such as those
// of a key that it quotes.
func OneLine(err error) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.Join(strings.Fields(err.Error()), " "))
}
