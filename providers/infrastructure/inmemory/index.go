package inmemory

// An index has what carries the tags of an owner, which everybody asks for, by id.
type index[T any] map[Owner]map[string]T

// put adds v, which carries tags.
func (x index[T]) put(tags map[string]string, id string, v T) {
	o := ownerOf(tags)
	if x[o] == nil {
		x[o] = make(map[string]T)
	}
	x[o][id] = v
}

// drop forgets what carries tags.
func (x index[T]) drop(tags map[string]string, id string) {
	o := ownerOf(tags)
	if delete(x[o], id); len(x[o]) == 0 {
		delete(x, o)
	}
}

// among returns those of all that may carry tags.
func (x index[T]) among(all map[string]T, tags map[string]string) map[string]T {
	if o := ownerOf(tags); o.Fleet != "" && o.Cluster != "" {
		return x[o]
	}
	return all
}
