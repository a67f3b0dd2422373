package openstacktest

import (
	"crypto/md5"
	"crypto/sha512"
	"encoding/hex"
	"net/http"
	"slices"
	"time"
)

// maxImageTags is how many tags Glance lets an image have (image_tag_quota).
const maxImageTags = 128

// errNoImage says what Glance says of an image that is not there.
func (k *call) errNoImage() error {
	return refuse(http.StatusNotFound, "", "No image found with ID %s", k.arg("id"))
}

// ownImage returns the image of the caller's project that a call is about.
func (k *call) ownImage() (Object, error) {
	o := k.find(Images, k.arg("id"))
	switch {
	case o == nil:
		return nil, k.errNoImage()
	case !k.admin() && o.String("project_id") != k.project:
		return nil, refuse(http.StatusForbidden, "", "You are not authorized to complete this action.")
	}
	return o, nil
}

func createImage(k *call) (any, error) {
	if v := k.body.String("visibility"); v == "public" && !k.admin() {
		return nil, refuse(http.StatusForbidden, "", "You are not authorized to complete publicize_image action.")
	}
	if limit, ok := k.r.quota(k.project, "image_count_total"); ok && len(k.mine(Images)) >= limit {
		return nil, refuse(http.StatusRequestEntityTooLarge, "", "Project %s is over a limit for [Resource image_count_total is over limit of %d due to current usage %d and delta 1]", k.project, limit, limit)
	}
	in := k.body.clone()
	tags := slices.Compact(slices.Sorted(slices.Values(in.Strings("tags"))))
	if len(tags) > maxImageTags {
		return nil, tooManyTags(len(tags))
	}
	in["tags"], in["status"], in["size"], in["checksum"], in["os_hash_algo"], in["os_hash_value"] = append([]string{}, tags...), "queued", nil, nil, nil, nil
	if !in.has("visibility") {
		in["visibility"] = "shared"
	}
	delete(in, "id")
	id := k.put(k.r, Images, k.project, in)
	k.header.Set("Location", k.path+"/"+id)
	k.header.Set("Openstack-Image-Import-Methods", "web-download")
	return k.r.tables[Images].get(id).without("project_id", "tasks"), nil
}

func deleteImage(k *call) (any, error) {
	o, err := k.ownImage()
	if err != nil {
		return nil, err
	}
	if o.Bool("protected") {
		return nil, refuse(http.StatusForbidden, "", "Image %s is protected and cannot be deleted.", o.ID())
	}
	if o.Bool("in_use") { // not of the API: set by tests, for a store that clones images
		return nil, refuse(http.StatusConflict, "", "Image %s could not be deleted because it is in use: The image cannot be deleted because it is in use through the backend store outside of Glance.", o.ID())
	}
	k.drop(Images, o.ID())
	return nil, nil
}

func tooManyTags(n int) error {
	return refuse(http.StatusRequestEntityTooLarge, "", "The limit has been exceeded on the number of allowed image tags. Attempted: %d, Maximum: %d", n, maxImageTags)
}

func tagImage(k *call) (any, error) {
	o, err := k.ownImage()
	if err != nil {
		return nil, err
	}
	tags := o.Strings("tags")
	if slices.Contains(tags, k.arg("tag")) {
		return nil, nil
	}
	if len(tags) >= maxImageTags {
		return nil, tooManyTags(len(tags) + 1)
	}
	o["tags"] = append(slices.Clone(tags), k.arg("tag"))
	return nil, nil
}

func untagImage(k *call) (any, error) {
	o, err := k.ownImage()
	if err != nil {
		return nil, err
	}
	i := slices.Index(o.Strings("tags"), k.arg("tag"))
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "", "The resource could not be found.")
	}
	o["tags"] = slices.Delete(slices.Clone(o.Strings("tags")), i, i+1)
	return nil, nil
}

func listImageTasks(k *call) (any, error) {
	o, err := k.ownImage()
	if err != nil {
		return nil, err
	}
	return Object{"tasks": append([]Object{}, o.Objects("tasks")...)}, nil
}

// importImage has the content of an image downloaded. As in Glance, its status shows
// that a while after the answer.
func importImage(k *call) (any, error) {
	o, err := k.ownImage()
	if err != nil {
		return nil, err
	}
	method := k.body.Object("method")
	name, from := method.String("name"), method.String("uri")
	if !slices.Contains(k.options.ImportMethods, name) {
		return nil, refuse(http.StatusBadRequest, "", "Unknown import method name '%s'.", name)
	}
	tasks := o.Objects("tasks")
	if o.String("status") != "queued" || slices.ContainsFunc(tasks, func(t Object) bool { return t.String("status") == "processing" }) {
		return nil, refuse(http.StatusConflict, "", "Image status transition from %s to importing is not allowed", o.String("status"))
	}
	now := k.clock().UTC().Format("2006-01-02T15:04:05Z")
	task := Object{
		"id": k.newID(), "image_id": o.ID(), "type": "api_image_import", "status": "processing", "message": "", "owner": k.project,
		"created_at": now, "updated_at": now, "expires_at": nil, "input": Object{}, "result": nil, "request_id": "req-test", "user_id": k.user.id,
	}
	o["tasks"] = append(slices.Clone(tasks), task)
	w := *k
	k.after(k.options.Delays.Import, func() {
		if o := w.r.tables[Images].get(o.ID()); o != nil {
			o["status"] = "importing"
			w.after(w.options.Delays.Import, func() { w.imported(o, task, from) })
		}
	})
	return nil, nil
}

// imported ends an import.
func (k *call) imported(o, task Object, from string) {
	task["updated_at"] = k.clock().UTC().Format("2006-01-02T15:04:05Z")
	if k.options.FailImport != nil {
		if why := k.options.FailImport(o.clone(), from); why != "" {
			o["status"], task["status"], task["message"] = "queued", "failure", why
			return
		}
	}
	content := []byte("what is at " + from)
	if k.options.Download != nil {
		content = k.options.Download(from)
	}
	sum, long := md5.Sum(content), sha512.Sum512(content) //nolint:gosec // Glance's checksum
	o["status"], o["size"], o["checksum"] = "active", len(content), hex.EncodeToString(sum[:])
	o["os_hash_algo"], o["os_hash_value"] = "sha512", hex.EncodeToString(long[:])
	o["updated_at"] = k.clock().UTC().Format(time.RFC3339)
	task["status"] = "success"
}
