package openstacktest

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Images are the kind of Glance.
const Images Kind = "images"

func (c *Cloud) imageService() *service {
	s := &service{
		kind: "image", name: "glance", prefix: "image", version: "/v2",
		refuse: func(e *apiError) Object {
			return Object{"message": e.message + "<br /><br />\n\n\n", "code": strconv.Itoa(e.status) + " " + http.StatusText(e.status), "title": http.StatusText(e.status)}
		},
		stamp: func(o Object, now time.Time) {
			t := now.UTC().Format("2006-01-02T15:04:05Z")
			o["owner"], o["created_at"], o["updated_at"], o["schema"] = o["project_id"], t, t, "/v2/schemas/image"
		},
	}
	c.kinds[Images] = &spec{kind: Images, service: s, one: "image", defaults: Object{
		"status": "active", "visibility": "private", "tags": []string{}, "min_disk": 0, "min_ram": 0, "size": 1 << 20,
		"disk_format": "raw", "container_format": "bare", "protected": false, "os_hidden": false, "checksum": "",
	}}
	version := Object{"id": "v2.15", "status": "CURRENT", "links": []Object{}}
	s.routes = []route{
		{"GET", "/{$}", http.StatusMultipleChoices, func(*call) (any, error) { return Object{"versions": []Object{version}}, nil }},
		{"GET", "/v2/images", http.StatusOK, listImages},
		{"POST", "/v2/images", http.StatusCreated, createImage},
		{"GET", "/v2/images/{id}", http.StatusOK, getImage},
		{"DELETE", "/v2/images/{id}", http.StatusNoContent, deleteImage},
		{"PUT", "/v2/images/{id}/tags/{tag}", http.StatusNoContent, tagImage},
		{"DELETE", "/v2/images/{id}/tags/{tag}", http.StatusNoContent, untagImage},
		{"GET", "/v2/images/{id}/tasks", http.StatusOK, listImageTasks},
		{"POST", "/v2/images/{id}/import", http.StatusAccepted, importImage},
		{"GET", "/v2/info/import", http.StatusOK, func(k *call) (any, error) {
			return Object{"import-methods": Object{"description": "Import methods available.", "type": "array", "value": k.options.ImportMethods}}, nil
		}},
	}
	return s
}

func listImages(k *call) (any, error) {
	all := slices.Clone(k.visible(Images))
	slices.Reverse(all) // the newest first
	for _, tag := range k.query["tag"] {
		all = slices.DeleteFunc(all, func(o Object) bool { return !slices.Contains(o.Strings("tags"), tag) })
	}
	all, _ = k.filter(all, func(string) bool { return true }, "tag", "sort", "member_status")
	page, next, ok := k.page(all, "id")
	if !ok {
		return nil, refuse(http.StatusBadRequest, "", "No image found with ID %s", k.query.Get("marker"))
	}
	out := Object{"images": []Object{}, "first": "/v2/images", "schema": "/v2/schemas/images"}
	for _, o := range page {
		out["images"] = append(out.Objects("images"), o.without("project_id", "tasks"))
	}
	if next != "" {
		out["next"] = "/v2/images?" + next
	}
	return out, nil
}

func getImage(k *call) (any, error) {
	o := k.find(Images, k.arg("id"))
	if o == nil {
		return nil, refuse(http.StatusNotFound, "", "No image found with ID %s", k.arg("id"))
	}
	return o.without("project_id", "tasks"), nil
}
