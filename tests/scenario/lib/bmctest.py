# SPDX-License-Identifier: Apache-2.0
"""A BMC for tests: a recorded Redfish tree over TLS, with sessions, events and every fault.

    tree = recorded()                    # {path: resource} of the GB300 node, or made_up()
    with Bmc(tree, user=..., password=...) as bmc:
        bmc.fault(r'/Sensors/', 'slow', 60)
        bmc.url, bmc.cert                # where it is, and the certificate to trust

    python3 bmctest.py N FOLDER          # N of them until stdin ends; FOLDER/bmc.json says where
"""
import base64, copy, http.server, json, os, queue, re, socket, ssl, subprocess, sys, threading, time

from aontest import ROOT

RECORDED = str(ROOT.parent / 'shared/data/telemetry/redfish_gb300_supermicro/fixtures')
REPORTS = '/redfish/v1/TelemetryService/MetricReports/'
SSE = '/redfish/v1/EventService/SSE'


def recorded(folder=RECORDED):
    """The resources of a recorded BMC by their path; None where they are not at hand."""
    if not os.path.isdir(folder):
        return None
    tree = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith('.json'):
            with open(os.path.join(folder, name)) as f:
                resource = json.load(f)
            if '@odata.id' in resource: # registries have none
                tree[resource['@odata.id'].rstrip('/')] = resource
    return tree


def sensor(chassis, name, value, kind='Temperature', units='Cel', **more):
    return {'@odata.id': f'/redfish/v1/Chassis/{chassis}/Sensors/{name}', '@odata.type': '#Sensor.v1_7_0.Sensor',
            'Id': name, 'Name': name, 'Reading': value, 'ReadingType': kind, 'ReadingUnits': units,
            'Status': {'State': 'Enabled', 'Health': 'OK'}, **more}


def collection(path, kind, members, **more):
    return {'@odata.id': path, '@odata.type': f'#{kind}Collection.{kind}Collection', 'Name': kind,
            'Members': [{'@odata.id': m} for m in members], 'Members@odata.count': len(members), **more}


def made_up(sensors=4):
    """A small BMC of no vendor: old Thermal and Power beside sensors, a GPU, logs, firmware, BIOS."""
    v1, chassis = '/redfish/v1', '/redfish/v1/Chassis/Tray'
    ref = lambda path: {'@odata.id': path}
    all_sensors = [sensor('Tray', f'Temp_{i}', 30.5 + i) for i in range(sensors)]
    resources = [
        {'@odata.id': v1, '@odata.type': '#ServiceRoot.v1_15_0.ServiceRoot', 'Id': 'RootService', 'RedfishVersion': '1.17.0',
         'Vendor': 'Nobody', 'Product': 'Made up', 'UUID': '00000000-0000-0000-0000-000000000001',
         'Chassis': ref(v1 + '/Chassis'), 'Systems': ref(v1 + '/Systems'), 'UpdateService': ref(v1 + '/UpdateService'),
         'EventService': ref(v1 + '/EventService'), 'SessionService': ref(v1 + '/SessionService'),
         'Links': {'Sessions': ref(v1 + '/SessionService/Sessions')}},
        collection(v1 + '/Chassis', 'Chassis', [chassis]),
        {'@odata.id': chassis, '@odata.type': '#Chassis.v1_22_0.Chassis', 'Id': 'Tray', 'Name': 'Tray', 'ChassisType': 'RackMount',
         'Model': 'T-1', 'SerialNumber': 'S1', 'Location': {'Placement': {'Rack': 'R7', 'RackOffset': 12}},
         'Sensors': ref(chassis + '/Sensors'), 'Thermal': ref(chassis + '/Thermal'), 'Power': ref(chassis + '/Power'),
         'Status': {'State': 'Enabled', 'Health': 'OK'}},
        collection(chassis + '/Sensors', 'Sensor', [s['@odata.id'] for s in all_sensors]),
        {'@odata.id': chassis + '/Thermal', '@odata.type': '#Thermal.v1_7_1.Thermal', 'Id': 'Thermal', 'Name': 'Thermal',
         'Temperatures': [{'@odata.id': chassis + '/Thermal#/Temperatures/0', 'MemberId': '0', 'Name': 'Inlet', 'ReadingCelsius': 24.0,
                           'Status': {'State': 'Enabled'}},
                          {'@odata.id': chassis + '/Thermal#/Temperatures/1', 'MemberId': '1', 'Name': 'Unplugged', 'ReadingCelsius': 0,
                           'Status': {'State': 'Absent'}}],
         'Fans': [{'@odata.id': chassis + '/Thermal#/Fans/0', 'MemberId': '0', 'Name': 'Fan 1', 'Reading': 9800, 'ReadingUnits': 'RPM',
                   'Status': {'State': 'Enabled'}}]},
        {'@odata.id': chassis + '/Power', '@odata.type': '#Power.v1_7_1.Power', 'Id': 'Power', 'Name': 'Power',
         'PowerControl': [{'@odata.id': chassis + '/Power#/PowerControl/0', 'Name': 'System', 'PowerConsumedWatts': 1234.5}],
         'Voltages': [{'@odata.id': chassis + '/Power#/Voltages/0', 'Name': 'P12V', 'ReadingVolts': 12.1}]},
        collection(v1 + '/Systems', 'ComputerSystem', [v1 + '/Systems/1']),
        {'@odata.id': v1 + '/Systems/1', '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem', 'Id': '1', 'Name': 'Host', 'PowerState': 'On',
         'Bios': ref(v1 + '/Systems/1/Bios'), 'Processors': ref(v1 + '/Systems/1/Processors'), 'LogServices': ref(v1 + '/Systems/1/LogServices')},
        {'@odata.id': v1 + '/Systems/1/Bios', '@odata.type': '#Bios.v1_2_0.Bios', 'Id': 'Bios', 'Name': 'BIOS',
         'Attributes': {'IOMMU': 'Disabled', 'SMT': True, 'Cores': 144, 'SetupPassword': 'verysecret'}},
        collection(v1 + '/Systems/1/Processors', 'Processor', [v1 + '/Systems/1/Processors/GPU_0']),
        {'@odata.id': v1 + '/Systems/1/Processors/GPU_0', '@odata.type': '#Processor.v1_20_0.Processor', 'Id': 'GPU_0', 'Name': 'GPU 0',
         'ProcessorType': 'GPU', 'Model': 'G-1', 'Metrics': ref(v1 + '/Systems/1/Processors/GPU_0/ProcessorMetrics'),
         'Ports': ref(v1 + '/Systems/1/Processors/GPU_0/Ports'), 'Status': {'State': 'Enabled', 'Health': 'OK'}},
        {'@odata.id': v1 + '/Systems/1/Processors/GPU_0/ProcessorMetrics', '@odata.type': '#ProcessorMetrics.v1_6_1.ProcessorMetrics',
         'Id': 'ProcessorMetrics', 'Name': 'Metrics', 'OperatingSpeedMHz': 1980, 'ThermalLimitThrottleDuration': 'PT1M2.5S',
         'PCIeErrors': {'CorrectableErrorCount': 7, 'FatalErrorCount': 0}},
        collection(v1 + '/Systems/1/Processors/GPU_0/Ports', 'Port', [v1 + '/Systems/1/Processors/GPU_0/Ports/NVLink_0']),
        {'@odata.id': v1 + '/Systems/1/Processors/GPU_0/Ports/NVLink_0', '@odata.type': '#Port.v1_4_0.Port', 'Id': 'NVLink_0', 'Name': 'NVLink 0',
         'LinkStatus': 'LinkUp', 'CurrentSpeedGbps': 400.0, 'MaxSpeedGbps': 400.0, 'Metrics': ref(v1 + '/Systems/1/Processors/GPU_0/Ports/NVLink_0/Metrics')},
        {'@odata.id': v1 + '/Systems/1/Processors/GPU_0/Ports/NVLink_0/Metrics', '@odata.type': '#PortMetrics.v1_3_0.PortMetrics', 'Id': 'Metrics',
         'Name': 'Metrics', 'RXBytes': 1000, 'TXBytes': 2000, 'RXErrors': 3,
         'Oem': {'Nobody': {'BitErrorRate': 1.5e-254, 'TXWait': 4294967295}}},
        collection(v1 + '/Systems/1/LogServices', 'LogService', [v1 + '/Systems/1/LogServices/SEL']),
        {'@odata.id': v1 + '/Systems/1/LogServices/SEL', '@odata.type': '#LogService.v1_2_0.LogService', 'Id': 'SEL', 'Name': 'SEL',
         'Entries': ref(v1 + '/Systems/1/LogServices/SEL/Entries')},
        {**collection(v1 + '/Systems/1/LogServices/SEL/Entries', 'LogEntry', []),
         'Members': [{'@odata.id': v1 + '/Systems/1/LogServices/SEL/Entries/1', 'Id': '1', 'Created': '2026-06-29T08:00:00Z',
                      'Severity': 'Critical', 'Message': 'PSU 2 lost input'}], 'Members@odata.count': 1},
        {'@odata.id': v1 + '/UpdateService', '@odata.type': '#UpdateService.v1_11_0.UpdateService', 'Id': 'UpdateService', 'Name': 'Updates',
         'FirmwareInventory': ref(v1 + '/UpdateService/FirmwareInventory')},
        collection(v1 + '/UpdateService/FirmwareInventory', 'SoftwareInventory', [v1 + '/UpdateService/FirmwareInventory/BMC']),
        {'@odata.id': v1 + '/UpdateService/FirmwareInventory/BMC', '@odata.type': '#SoftwareInventory.v1_4_0.SoftwareInventory',
         'Id': 'BMC', 'Name': 'BMC image', 'Version': '1.2.3'},
        {'@odata.id': v1 + '/EventService', '@odata.type': '#EventService.v1_7_2.EventService', 'Id': 'EventService', 'Name': 'Events',
         'ServiceEnabled': True, 'ServerSentEventUri': SSE},
        {'@odata.id': v1 + '/SessionService', '@odata.type': '#SessionService.v1_1_9.SessionService', 'Id': 'SessionService', 'Name': 'Sessions',
         'Sessions': ref(v1 + '/SessionService/Sessions')},
    ]
    return {r['@odata.id']: r for r in resources + all_sensors}


def report(name, values, t=None, stale=False):
    """A MetricReport; values: [(property, value)]."""
    stamp = time.strftime('%Y-%m-%dT%H:%M:%S+00:00', time.gmtime(time.time() if t is None else t))
    return {'@odata.id': REPORTS + name, '@odata.type': '#MetricReport.v1_4_2.MetricReport', 'Id': name, 'Name': name,
            'MetricValues': [{'MetricProperty': p, 'MetricValue': str(v), 'Timestamp': stamp,
                              'Oem': {'Nvidia': {'MetricValueStale': stale}}} for p, v in values]}


def make_cert(folder, name='bmc', host='127.0.0.1'):
    """A certificate of its own and its key: (cert, key)."""
    cert, key = (os.path.join(folder, f'{name}.{end}') for end in ('crt', 'key'))
    if not os.path.exists(cert):
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30',
                        '-subj', f'/CN={name}', '-addext', f'subjectAltName=IP:{host}', '-keyout', key, '-out', cert],
                       check=True, capture_output=True)
    return cert, key


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = 1 << 16

    def log_message(self, *args):
        pass

    def answer(self, status, body=b'', **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace('_', '-'), value)
        if 'Content_Length' not in headers:
            self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def allowed(self):
        bmc = self.server.bmc
        if not bmc.user:
            return True
        token = self.headers.get('X-Auth-Token')
        if token:
            left = bmc.sessions.get(token)
            if left is None:
                return False
            bmc.sessions[token] = left - 1
            if left <= 1:
                del bmc.sessions[token]
            return True
        word = self.headers.get('Authorization', '')
        if bmc.basic and word.startswith('Basic '):
            return base64.b64decode(word[6:]).decode() == f'{bmc.user}:{bmc.password}'
        return False

    def do_POST(self):
        bmc = self.server.bmc
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        bmc.asked.append(('POST', self.path, time.monotonic()))
        if not self.path.endswith('/Sessions'):
            return self.answer(405)
        if not bmc.with_sessions:
            return self.answer(404)
        said = json.loads(body or b'{}')
        if (said.get('UserName'), said.get('Password')) != (bmc.user, bmc.password):
            return self.answer(401)
        bmc.serial += 1
        token = f'token-{bmc.port}-{bmc.serial}'
        bmc.sessions[token] = bmc.expire_after or 1 << 60
        place = f'/redfish/v1/SessionService/Sessions/{bmc.serial}'
        bmc.places[place] = token
        self.answer(201, b'{}', X_Auth_Token=token, Location=place, Content_Type='application/json')

    def do_DELETE(self):
        bmc = self.server.bmc
        bmc.asked.append(('DELETE', self.path, time.monotonic()))
        bmc.sessions.pop(bmc.places.pop(self.path, None), None)
        self.answer(204)

    def do_GET(self):
        bmc = self.server.bmc
        path, _, query = self.path.partition('?')
        path = path.rstrip('/')
        bmc.asked.append(('GET', self.path, time.monotonic()))
        open_to_all = path == '/redfish/v1' or path == '/redfish'
        if not open_to_all and not self.allowed():
            return self.answer(401)
        for fault in bmc.faults:
            if re.search(fault['path'], path) and fault['left'] != 0:
                fault['left'] -= 1
                if self.fail(fault, path):
                    return
        if path == SSE:
            return self.events()
        body, tag = bmc.body(path, query)
        if body is None:
            return self.answer(404, b'{"error":{}}')
        if '$expand' in query and bmc.expand not in (True, False):
            return self.answer(bmc.expand, b'{"error":{}}')
        if tag and self.headers.get('If-None-Match') == tag:
            return self.answer(304, ETag=tag)
        self.answer(200, body, Content_Type='application/json', **({'ETag': tag} if tag else {}))

    def fail(self, fault, path):
        """True: that was the answer."""
        kind, arg, bmc = fault['kind'], fault['arg'], self.server.bmc
        body = bmc.body(path, '')[0] or b'{}'
        if kind == 'slow':
            bmc.stop.wait(arg)
            return False
        if kind == 'drip': # a byte now and then, for ever
            self.send_response(200)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            for byte in body:
                if bmc.stop.wait(arg):
                    break
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
            self.close_connection = True
            return True
        if kind == 'status':
            self.answer(arg, b'{"error":{"code":"Base.1.0.GeneralError"}}')
        elif kind == 'wrong':
            self.answer(200, b'<html><body>Please log in</body></html>', Content_Type='text/html')
        elif kind == 'json':
            self.answer(200, arg if isinstance(arg, bytes) else json.dumps(arg).encode())
        elif kind == 'truncate':
            self.answer(200, body[:len(body) // 2])
        elif kind == 'lie_long':
            self.answer(200, body, Content_Length=str(len(body) + 100000))
            self.close_connection = True
        elif kind == 'lie_short':
            self.answer(200, body, Content_Length=str(len(body) // 2))
            self.close_connection = True
        elif kind == 'huge':
            self.send_response(200)
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            block = b'{"x":[' + b'1,' * 32768
            for _ in range(arg * 16):
                self.wfile.write(b'%x\r\n' % len(block) + block + b'\r\n')
            self.close_connection = True
        elif kind == 'close':
            self.close_connection = True
        else:
            raise ValueError(kind)
        return True

    def events(self):
        bmc, mine = self.server.bmc, queue.Queue()
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Connection', 'close')
        self.end_headers()
        self.wfile.flush()
        bmc.listeners.append(mine)
        self.close_connection = True
        try:
            while not bmc.stop.is_set():
                try:
                    text = mine.get(timeout=0.2)
                except queue.Empty:
                    continue
                if text is None:
                    break
                self.wfile.write(text)
                self.wfile.flush()
        finally:
            bmc.listeners.remove(mine)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, bmc, address, context):
        self.bmc, self.context = bmc, context
        super().__init__(address, Handler)

    def finish_request(self, request, client):
        # The handshake belongs to the connection's own thread: one that stalls stops nobody.
        request.settimeout(120)
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client)
        try:
            request.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        request.close()

    def handle_error(self, request, client):
        pass # who hangs up is of no interest


class Bmc:
    def __init__(self, tree, folder, user='root', password='correct horse', tls=True, cert=None, live=0,
                 with_sessions=True, basic=True, etags=True, expand=True, move=True):
        """expand: False: it does not heed $expand; a number: it answers that with this status."""
        self.tree, self.user, self.password = tree, user, password
        self.cert, key = cert or make_cert(folder)
        self.move = move # values of reports change with their times
        self.live, self.with_sessions, self.basic, self.etags, self.expand = live, with_sessions, basic, etags, expand
        self.sessions, self.places, self.serial, self.expire_after = {}, {}, 0, 0
        self.faults, self.asked, self.listeners, self.stop = [], [], [], threading.Event()
        self.cache = {}
        context = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.cert, key)
        self.server = Server(self, ('127.0.0.1', 0), context)
        self.port = self.server.server_address[1]
        self.url = f'http{"s" if tls else ""}://127.0.0.1:{self.port}'

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={'poll_interval': 0.1}, daemon=True).start()
        return self

    def __exit__(self, *why):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()

    def fault(self, path, kind, arg=None, times=-1):
        self.faults.append({'path': path, 'kind': kind, 'arg': arg, 'left': times})

    def emit(self, event):
        """Of a dictionary an event, of bytes whatever they are, to all who listen."""
        text = event if isinstance(event, bytes) or event is None else b'id: 1\ndata: ' + json.dumps(event).encode() + b'\n\n'
        for listener in list(self.listeners):
            listener.put(text)

    def change(self, path, resource):
        self.tree[path] = resource
        self.cache.clear()

    def body(self, path, query):
        """(bytes, tag) of a resource; reports of a live BMC are as old as the moment."""
        moment = int(time.time() / self.live) if self.live and (path + '/').startswith(REPORTS) else 0
        kept = self.cache.get((path, query))
        if kept and kept[0] == moment:
            return kept[1]
        resource = self.tree.get(path)
        if resource is None:
            return None, None
        if callable(resource): # a resource that moves
            moment, resource = time.monotonic_ns(), resource()
        if '$expand' in query and self.expand is True and 'Members' in resource:
            resource = {**resource, 'Members': [self.tree.get(m.get('@odata.id', ''), m) for m in resource['Members']]}
        text = json.dumps(resource, indent=2)
        if moment and self.live:
            now = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(moment * self.live))
            text = re.sub(r'"2026-06-29T\d\d:\d\d:\d\d', '"' + now, text)
            if self.move:
                text = text.replace('.000000"', f'.{moment % 1000000:06d}"')
        answer = text.encode(), f'"{hash(text) & 0xffffffff:x}"' if self.etags else None
        self.cache[path, query] = moment, answer
        return answer


class Shared(Bmc):
    """One of many with the same tree: what a resource is at a moment is made once for all."""
    made = {}

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.cache = Shared.made


def main():
    count, folder = int(sys.argv[1]), sys.argv[2]
    tree = recorded() or made_up(200)
    all_of = [Shared(copy.copy(tree), folder, live=5).__enter__() for _ in range(count)]
    with open(os.path.join(folder, 'bmc.json.new'), 'w') as f:
        json.dump({'cert': all_of[0].cert, 'urls': [b.url for b in all_of], 'user': all_of[0].user, 'password': all_of[0].password}, f)
    os.rename(os.path.join(folder, 'bmc.json.new'), os.path.join(folder, 'bmc.json'))
    sys.stdin.read()
    print(json.dumps({'asked': [len(b.asked) for b in all_of]}))


if __name__ == '__main__':
    main()
