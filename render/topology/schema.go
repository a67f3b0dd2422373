package topology

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// schemaProps returns the schema of a variable in the form that the libraries
// of API servers take.
func schemaProps(in *clusterv1.JSONSchemaProps, path *field.Path) (*apiextensions.JSONSchemaProps, field.ErrorList) {
	c := converter{}
	out := c.props(in, path)
	return out, c.errs
}

type converter struct{ errs field.ErrorList }

func (c *converter) props(in *clusterv1.JSONSchemaProps, path *field.Path) *apiextensions.JSONSchemaProps {
	types := []string{"array", "boolean", "integer", "number", "object", "string"}
	if in.Type != "" && !slices.Contains(types, in.Type) {
		c.errs = append(c.errs, field.NotSupported(path.Child("type"), in.Type, types))
	}
	out := &apiextensions.JSONSchemaProps{
		Type: in.Type, Format: in.Format, Pattern: in.Pattern, Required: in.Required,
		MinLength: in.MinLength, MaxLength: in.MaxLength,
		MinItems: in.MinItems, MaxItems: in.MaxItems, UniqueItems: is(in.UniqueItems),
		MinProperties: in.MinProperties, MaxProperties: in.MaxProperties,
		Minimum: float(in.Minimum), ExclusiveMinimum: is(in.ExclusiveMinimum),
		Maximum: float(in.Maximum), ExclusiveMaximum: is(in.ExclusiveMaximum),
		XIntOrString: is(in.XIntOrString),
		Default:      c.json(in.Default, path.Child("default")),
		AllOf:        c.list(in.AllOf, path.Child("allOf")),
		AnyOf:        c.list(in.AnyOf, path.Child("anyOf")),
		OneOf:        c.list(in.OneOf, path.Child("oneOf")),
		XValidations: rules(in.XValidations),
	}
	if is(in.XPreserveUnknownFields) {
		out.XPreserveUnknownFields = in.XPreserveUnknownFields
	}
	for i := range in.Enum {
		if v := c.json(&in.Enum[i], path.Child("enum").Index(i)); v != nil {
			out.Enum = append(out.Enum, *v)
		}
	}
	if in.Not != nil {
		out.Not = c.props(in.Not, path.Child("not"))
	}
	if in.Items != nil {
		out.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: c.props(in.Items, path.Child("items"))}
	}
	if in.AdditionalProperties != nil {
		if len(in.Properties) > 0 {
			c.errs = append(c.errs, field.Forbidden(path.Child("additionalProperties"), "cannot be there beside properties"))
		}
		out.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{
			Allows: true, Schema: c.props(in.AdditionalProperties, path.Child("additionalProperties")),
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		if out.Properties == nil {
			out.Properties = map[string]apiextensions.JSONSchemaProps{}
		}
		p := in.Properties[name]
		out.Properties[name] = *c.props(&p, path.Child("properties", name))
	}
	return out
}

func (c *converter) list(in []clusterv1.JSONSchemaProps, path *field.Path) []apiextensions.JSONSchemaProps {
	var out []apiextensions.JSONSchemaProps
	for i := range in {
		out = append(out, *c.props(&in[i], path.Index(i)))
	}
	return out
}

func (c *converter) json(in *apiextensionsv1.JSON, path *field.Path) *apiextensions.JSON {
	if in == nil || in.Raw == nil {
		return nil
	}
	var out apiextensions.JSON
	err := json.Unmarshal(in.Raw, new(any))
	if err == nil {
		err = apiextensionsv1.Convert_v1_JSON_To_apiextensions_JSON(in, &out, nil)
	}
	if err != nil {
		c.errs = append(c.errs, field.Invalid(path, string(in.Raw), fmt.Sprintf("is not JSON: %v", err)))
		return nil
	}
	return &out
}

func rules(in []clusterv1.ValidationRule) apiextensions.ValidationRules {
	var out apiextensions.ValidationRules
	for _, r := range in {
		rule := apiextensions.ValidationRule{
			Rule: r.Rule, Message: r.Message, MessageExpression: r.MessageExpression, FieldPath: r.FieldPath,
		}
		if r.Reason != "" {
			reason := apiextensions.FieldValueErrorReason(r.Reason)
			rule.Reason = &reason
		}
		out = append(out, rule)
	}
	return out
}

func is(b *bool) bool { return b != nil && *b }

func float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}
