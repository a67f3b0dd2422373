package topology

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// builtin is the variable with what is known of a cluster.
const builtin = "builtin"

// wrapped is the field of an object that has a value, since the libraries accept objects
// only.
const wrapped = "value"

// Limits of CEL rules: one rule, and all rules of a cluster. An API server does some ten
// thousand units in a millisecond.
const (
	ruleCost  = celconfig.PerCallLimit / 10
	rulesCost = celconfig.RuntimeCELCostBudget / 10
)

// A variable is one compiled variable of a class. It is safe for concurrent use.
type variable struct {
	name       string
	required   bool
	hasDefault bool
	schema     *structural.Structural // of an object with the value in it
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil without CEL rules
}

// newVariable compiles a definition. Paths in errors are below path. Source: Cluster API,
// internal/topology/variables.
func newVariable(def *clusterv1.ClusterClassVariable, path *field.Path) (*variable, field.ErrorList) {
	switch {
	case def.Name == "":
		return nil, field.ErrorList{field.Required(path.Child("name"), "")}
	case def.Name == builtin, strings.Contains(def.Name, "."):
		return nil, field.ErrorList{field.Invalid(path.Child("name"), def.Name, `must not be "builtin" nor have a dot in it`)}
	}
	path = path.Child("schema", "openAPIV3Schema")
	props, errs := schemaProps(&def.Schema.OpenAPIV3Schema, path)
	if len(errs) > 0 {
		return nil, errs
	}
	object := &apiextensions.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{wrapped: *props},
	}
	schema, err := structural.NewStructural(object)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	if errs := structural.ValidateStructural(path, schema); len(errs) > 0 {
		for _, e := range errs {
			e.Field = strings.Replace(e.Field, ".properties["+wrapped+"]", "", 1)
		}
		return nil, errs
	}
	value := schema.Properties[wrapped]
	if errs := checkRules(&value, path); len(errs) > 0 {
		return nil, errs
	}
	errs, err = defaulting.ValidateDefaults(context.Background(), path, &value, false, true)
	if err != nil {
		errs = append(errs, field.Invalid(path, "", err.Error()))
	}
	if len(errs) > 0 {
		return nil, plainWords(errs)
	}
	validator, _, err := validation.NewSchemaValidator(object)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	return &variable{
		name: def.Name, required: is(def.Required), hasDefault: def.Schema.OpenAPIV3Schema.Default != nil,
		schema: schema, validator: validator, rules: cel.NewValidator(schema, false, ruleCost),
	}, nil
}

// checkRules compiles the CEL rules of s and below. It refuses a rule about the old value,
// which a commit does not have.
func checkRules(s *structural.Structural, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.XValidations) > 0 {
		at := path.Child("x-kubernetes-validations")
		base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		results, err := cel.Compile(s, model.SchemaDeclType(s, false), ruleCost, base, cel.NewExpressionsEnvLoader())
		if err != nil {
			errs = append(errs, field.Invalid(at, "", err.Error()))
		}
		for i, r := range results {
			switch rule := at.Index(i).Child("rule"); {
			case r.Error != nil:
				errs = append(errs, field.Invalid(rule, s.XValidations[i].Rule, r.Error.Detail))
			case r.UsesOldSelf:
				errs = append(errs, field.Forbidden(rule, "oldSelf is not supported: what a value was before is not in the commit that is rendered"))
			}
			if r.MessageExpressionError != nil {
				errs = append(errs, field.Invalid(at.Index(i).Child("messageExpression"), s.XValidations[i].MessageExpression, r.MessageExpressionError.Detail))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		errs = append(errs, checkRules(&p, path.Child("properties", name))...)
	}
	if s.Items != nil {
		errs = append(errs, checkRules(s.Items, path.Child("items"))...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		errs = append(errs, checkRules(s.AdditionalProperties.Structural, path.Child("additionalProperties"))...)
	}
	return errs
}

// countRules returns how many CEL rules a schema has.
func countRules(s *clusterv1.JSONSchemaProps) int {
	n := len(s.XValidations)
	for _, p := range s.Properties {
		n += countRules(&p)
	}
	for _, list := range [][]clusterv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			n += countRules(&list[i])
		}
	}
	for _, p := range []*clusterv1.JSONSchemaProps{s.Items, s.AdditionalProperties, s.Not} {
		if p != nil {
			n += countRules(p)
		}
	}
	return n
}

// check returns the value raw, which may be nil, with defaults, and its errors, whose paths
// begin with "value". cost is what CEL rules may still cost, and the last result what is
// left of it.
func (v *variable) check(raw json.RawMessage, cost int64) (json.RawMessage, field.ErrorList, int64) {
	object := map[string]any{}
	if raw != nil {
		var value any
		if err := utiljson.Unmarshal(raw, &value); err != nil {
			return nil, field.ErrorList{field.Invalid(field.NewPath(wrapped), string(raw), err.Error())}, cost
		}
		object[wrapped] = value
	}
	defaulting.Default(object, v.schema)
	if _, ok := object[wrapped]; !ok {
		return nil, nil, cost
	}
	errs := validation.ValidateCustomResource(nil, object, v.validator)
	if len(errs) == 0 {
		for _, unknown := range pruning.PruneWithOptions(object, v.schema, false, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
			errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: unknown, Detail: "the schema of the variable has no such field"})
		}
	}
	if len(errs) == 0 && v.rules != nil {
		var left int64
		errs, left = v.rules.Validate(context.Background(), nil, v.schema, object, nil, cost)
		cost = max(0, left)
	}
	if len(errs) > 0 {
		return nil, plainWords(errs), cost
	}
	out, err := json.Marshal(object[wrapped])
	if err != nil {
		return nil, field.ErrorList{field.InternalError(field.NewPath(wrapped), err)}, cost
	}
	return out, nil, cost
}

// plainWords removes from errors what only makes sense for the body of a request.
func plainWords(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		if _, after, ok := strings.Cut(err.Detail, " in body "); ok {
			err.Detail = after
		}
	}
	return errs
}

// lookup returns the value at a path such as "a.b[0].c" of a variable.
func lookup(variables map[string]json.RawMessage, path string) (json.RawMessage, error) {
	missing := fmt.Errorf("the variable %q has no value", path)
	segments := strings.Split(path, ".")
	name, index, err := segment(segments[0])
	if err != nil {
		return nil, fmt.Errorf("%q is not the path of a variable: %w", path, err)
	}
	raw, ok := variables[name]
	if !ok {
		return nil, missing
	}
	for i := 0; ; i++ {
		for _, at := range index {
			var list []json.RawMessage
			if err := json.Unmarshal(raw, &list); err != nil || at >= len(list) {
				return nil, missing
			}
			raw = list[at]
		}
		if i+1 == len(segments) {
			return raw, nil
		}
		if name, index, err = segment(segments[i+1]); err != nil {
			return nil, fmt.Errorf("%q is not the path of a variable: %w", path, err)
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, missing
		}
		if raw, ok = m[name]; !ok {
			return nil, missing
		}
	}
}

// segment splits "name[1]" into its name and its indices.
func segment(s string) (string, []int, error) {
	name, rest, ok := strings.Cut(s, "[")
	if !ok {
		return s, nil, nil
	}
	var index []int
	for part := range strings.SplitSeq(rest, "[") {
		var n int
		if _, err := fmt.Sscanf(part, "%d]", &n); err != nil || n < 0 || part != fmt.Sprintf("%d]", n) {
			return "", nil, fmt.Errorf("[%s is not an index", part)
		}
		index = append(index, n)
	}
	return name, index, nil
}
