// Package rules decides by expressions of CEL what a plan may be.
//
//	err := rules.Check("plan.changes.all(c, c.change != 'delete cluster')")
//	holds, err := rules.Holds(ctx, expression, plan)
//
// What it guarantees:
//
//   - An expression is checked by the types of a plan before there is one: a field that does
//     not exist is an error of Check.
//   - What an expression costs is bounded, whatever it is, and it reaches nothing but the plan.
package rules

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"fairlead.dev/fleet"
)

const (
	// maxExpression bounds an expression, in bytes.
	maxExpression = 4 << 10
	// maxCost bounds what deciding one costs, as CEL counts it: about a second.
	maxCost = 1_000_000
)

// A Plan is what an expression knows as plan.
type Plan struct {
	Changes  []Change  `cel:"changes"`
	Clusters []Cluster `cel:"clusters"` // those that a merge defines otherwise, or takes away
	Problems []string  `cel:"problems"` // what of the merge cannot be used
}

// A Change is one thing that would be done.
type Change struct {
	Change  string `cel:"change"`  // "create", "replace", "delete", "delete cluster", …
	Cluster string `cel:"cluster"` // NAMESPACE/NAME; empty: it is of fleet.yaml
	Pool    string `cel:"pool"`
	Machine string `cel:"machine"`
	Addon   string `cel:"addon"`
	Reason  string `cel:"reason"`
}

// A Cluster is a changed cluster, with its versions before and after.
type Cluster struct {
	Name      string            `cel:"name"` // NAMESPACE/NAME
	Labels    map[string]string `cel:"labels"`
	Is        string            `cel:"is"`        // its version of Kubernetes; empty: it is not there
	WillBe    string            `cel:"willBe"`    // its version after the merge; empty: it is not in Git any more
	Namespace string            `cel:"namespace"` // of Name
}

// Check returns why expression is invalid. The error has the kind Invalid.
func Check(expression string) error {
	_, err := compiled(expression)
	return err
}

// Holds reports whether expression is true of p. It returns an error if expression has no result.
func Holds(ctx context.Context, expression string, p Plan) (bool, error) {
	program, err := compiled(expression)
	if err != nil {
		return false, err
	}
	out, _, err := program.ContextEval(ctx, map[string]any{"plan": &p})
	if err != nil {
		return false, fleet.Errorf(fleet.Invalid, "decide by an expression", "%w", err)
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, fleet.Errorf(fleet.Invalid, "decide by an expression", "it is %s, not true or false", out.Type().TypeName())
	}
	return holds, nil
}

func compiled(expression string) (cel.Program, error) {
	const op = "read an expression"
	if len(expression) > maxExpression {
		return nil, fleet.Errorf(fleet.Invalid, op, "it has %d bytes, more than %d", len(expression), maxExpression)
	}
	env, err := cel.NewEnv(
		ext.NativeTypes(reflect.TypeFor[Plan](), reflect.TypeFor[Change](), reflect.TypeFor[Cluster](), ext.ParseStructTags(true)),
		ext.Strings(), cel.Variable("plan", cel.ObjectType("rules.Plan")),
	)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", errors.New(fleet.OneLine(err)))
	}
	if ast.OutputType() != cel.BoolType {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", fmt.Errorf("it is %s, and has to be true or false", ast.OutputType()))
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(1000))
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return program, nil
}
