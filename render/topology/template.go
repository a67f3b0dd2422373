package topology

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// An engine runs templates for one expansion at a time. It keeps what it parsed.
type engine struct {
	budget  *budget
	funcs   template.FuncMap
	plain   template.FuncMap // functions of naming templates
	parsed  map[string]*template.Template
	nameful map[string]*template.Template
}

func newEngine() *engine {
	e := &engine{parsed: map[string]*template.Template{}, nameful: map[string]*template.Template{}}
	e.funcs = functions(&e.budget)
	e.plain = template.FuncMap{}
	for _, name := range []string{"print", "println", "printf", "html", "js", "urlquery", stepName} {
		e.plain[name] = e.funcs[name]
	}
	return e
}

// stepName is the function that templates call in each iteration.
const stepName = "fairlead_step"

// parse returns a template that counts its iterations.
func (e *engine) parse(text string) (*template.Template, error) {
	if t, ok := e.parsed[text]; ok {
		return t, nil
	}
	t, err := counted(text, e.funcs)
	if err == nil {
		e.parsed[text] = t
	}
	return t, err
}

// parseName parses a naming template: it has no functions, and every variable needs a
// value.
func (e *engine) parseName(text string) (*template.Template, error) {
	if t, ok := e.nameful[text]; ok {
		return t, nil
	}
	t, err := counted(text, e.plain)
	if err == nil {
		t.Option("missingkey=error")
		e.nameful[text] = t
	}
	return t, err
}

// counted parses text, and puts a call that spends from the budget in front of each
// template and each body of a loop. A loop without output or calls cannot be stopped
// otherwise.
func counted(text string, funcs template.FuncMap) (*template.Template, error) {
	t, err := template.New("template").Funcs(funcs).Parse(text)
	if err != nil {
		return nil, plainTemplateError(err)
	}
	for _, part := range t.Templates() {
		if part.Tree == nil || part.Root == nil {
			continue
		}
		cost, depth := count(part.Root, funcs)
		part.Root.Nodes = append([]parse.Node{step(cost+stackCost*(1+depth), funcs)}, part.Root.Nodes...)
	}
	return t, nil
}

// stackCost is the cost of a level of nesting while a template runs. It stops templates
// that call themselves long before the stack overflows, from which a process cannot
// recover: a level takes about half a kilobyte.
const stackCost = 5000

// count adds a step to each loop below n. It returns a measure for the cost of n, and the
// depth of its branches.
func count(n parse.Node, funcs template.FuncMap) (cost, depth int) {
	lists, pipe := below(n)
	if lists == nil {
		return 10 * len(n.String()), 0
	}
	cost = 1000
	if pipe != nil {
		cost += 10 * len(pipe.String())
	}
	for i, l := range lists {
		c, d := count(l, funcs)
		if r, ok := n.(*parse.RangeNode); ok && i == 0 {
			r.List.Nodes = append([]parse.Node{step(1000+c, funcs)}, r.List.Nodes...)
		}
		cost, depth = cost+c, max(depth, d)
	}
	if pipe != nil {
		depth++
	}
	return cost, depth
}

// below returns what is directly below n, and of a branch what decides it.
func below(n parse.Node) ([]parse.Node, *parse.PipeNode) {
	branch := func(b *parse.BranchNode) ([]parse.Node, *parse.PipeNode) {
		if b.ElseList == nil {
			return []parse.Node{b.List}, b.Pipe
		}
		return []parse.Node{b.List, b.ElseList}, b.Pipe
	}
	switch n := n.(type) {
	case *parse.ListNode:
		return n.Nodes, nil
	case *parse.IfNode:
		return branch(&n.BranchNode)
	case *parse.WithNode:
		return branch(&n.BranchNode)
	case *parse.RangeNode:
		return branch(&n.BranchNode)
	}
	return nil, nil
}

// step returns {{ fairlead_step cost }}.
func step(cost int, funcs template.FuncMap) parse.Node {
	trees, err := parse.Parse("step", fmt.Sprintf("{{%s %d}}", stepName, cost), "", "", funcs)
	if err != nil {
		panic(err) // the text is ours
	}
	return trees["step"].Root.Nodes[0]
}

// run executes t with data and returns what it prints.
func (e *engine) run(t *template.Template, data any) (string, error) {
	var out limited
	if err := t.Execute(&out, data); err != nil {
		if errors.Is(err, errWork) {
			return "", errWork
		}
		return "", plainTemplateError(err)
	}
	if err := e.budget.spend(out.Len()); err != nil {
		return "", err
	}
	return out.String(), nil
}

// limited is a buffer that refuses to hold more than maxOutput.
type limited struct{ bytes.Buffer }

var errOutput = fmt.Errorf("it prints more than %d bytes", maxOutput)

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, errOutput
	}
	return l.Buffer.Write(p)
}

// plainTemplateError takes the name that all templates have out of an error.
func plainTemplateError(err error) error {
	s := strings.ReplaceAll(err.Error(), "template: template:", "line ")
	s = strings.Replace(s, `executing "template" `, "", 1)
	return errors.New(s)
}

// noValue is what text/template prints for a variable that is not there.
const noValue = "<no value>"

// value runs a template and reads what it prints as YAML, as JSON.
func (e *engine) value(text string, data any) ([]byte, error) {
	t, err := e.parse(text)
	if err != nil {
		return nil, err
	}
	out, err := e.run(t, data)
	if err != nil {
		return nil, err
	}
	if strings.Contains(out, noValue) {
		return nil, fmt.Errorf("it prints a variable that has no value: %q", shorten(out))
	}
	if err := e.budget.spend(20 * len(out)); err != nil {
		return nil, err
	}
	if strings.Contains(out, "*") && strings.Contains(out, "&") && hasAlias(out) {
		return nil, errors.New("it prints a YAML alias; write out what it stands for")
	}
	json, err := documents.ToJSONStrict([]byte(out), documents.BuiltLimits())
	if err != nil {
		return nil, fmt.Errorf("what it prints is not YAML: %s; it prints %q", oneLine(err.Error()), shorten(out))
	}
	return bytes.TrimSpace(json), nil
}

// hasAlias reports whether a YAML document has an alias, by which a few bytes can stand for
// many.
func hasAlias(text string) bool {
	doc, err := documents.Node([]byte(text), documents.BuiltLimits())
	if err != nil || doc == nil {
		return false // the parser reports the error
	}
	var found func(n *yaml.Node) bool
	found = func(n *yaml.Node) bool {
		if n.Kind == yaml.AliasNode {
			return true
		}
		for _, c := range n.Content {
			if found(c) {
				return true
			}
		}
		return false
	}
	return found(doc)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func shorten(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
