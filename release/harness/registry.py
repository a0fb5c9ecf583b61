"""A registry of npm on this machine, with the packages of a folder and nothing else."""

import base64
import hashlib
import http.server
import json
import tarfile
import threading
from urllib.parse import unquote


class Registry:
    """Serves archives by the description in them; `asked` has the paths of all requests."""

    def __init__(self, archives, others):
        self.files = {f"/files/{archive.name}": archive.read_bytes() for archive in archives}
        self.documents, self.asked = {}, []
        for archive in archives:
            self.add(description(archive), archive)
        # Packages of other platforms, whose archives are not there: nothing may ask for them.
        for manifest in others:
            self.add(manifest, None)

    def add(self, manifest, archive):
        data = archive.read_bytes() if archive else b""
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        self.documents[manifest["name"]] = (manifest, archive.name if archive else "absent.tgz", integrity)

    def __enter__(self):
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = unquote(self.path)
                registry.asked.append(path)
                body = registry.files.get(path) or registry.document(path.lstrip("/"))
                self.send_response(200 if body else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def document(self, name):
        if name not in self.documents:
            return None
        manifest, file, integrity = self.documents[name]
        dist = {"tarball": f"{self.url}/files/{file}", "integrity": integrity}
        version = manifest["version"]
        return json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest | {"dist": dist}}}).encode()


def description(archive):
    with tarfile.open(archive) as packed:
        return json.load(packed.extractfile("package/package.json"))
