package topology

import (
	"errors"
	"reflect"
)

// Costs of one expansion. A unit is about a nanosecond of work, so that the worst class
// costs some hundred milliseconds for each cluster.
const (
	maxWork   = 300_000_000
	maxValue  = 128 << 10 // bytes of one value within a template
	maxOutput = 256 << 10 // bytes that one template may print
	maxGrowth = 1 << 20   // bytes that one call may make of its arguments
)

// A budget is the work that is left for one expansion.
type budget struct{ left int }

var errWork = errors.New("the class takes too much work: its templates, patches and rules together went over what one cluster may cost")

// spend takes n from the budget.
func (b *budget) spend(n int) error {
	if n > b.left {
		b.left = 0
		return errWork
	}
	b.left -= n
	return nil
}

// weight returns the size of v in bytes, or more than limit once it exceeds that: a value
// may contain itself.
func weight(v reflect.Value, limit int) int {
	const node = 16
	if limit < 0 {
		return node
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return node
		}
		return node + weight(v.Elem(), limit-node)
	case reflect.String:
		return node + v.Len()
	case reflect.Slice, reflect.Array:
		n := node
		for i := 0; i < v.Len() && n <= limit; i++ {
			n += weight(v.Index(i), limit-n)
		}
		return n
	case reflect.Map:
		n := node
		for it := v.MapRange(); n <= limit && it.Next(); {
			n += weight(it.Key(), limit-n) + weight(it.Value(), limit-n)
		}
		return n
	}
	return node
}

// depth returns how deep v is nested, at most limit.
func depth(v reflect.Value, limit int) int {
	if limit == 0 {
		return 0
	}
	deepest := 0
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return depth(v.Elem(), limit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			deepest = max(deepest, depth(v.Index(i), limit-1))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			deepest = max(deepest, depth(it.Value(), limit-1))
		}
	}
	return 1 + deepest
}
