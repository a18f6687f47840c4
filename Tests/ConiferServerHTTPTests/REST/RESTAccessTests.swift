import ConiferQuery
import ConiferServer
import ConiferServerHTTP
import ConiferTree
import Testing

@Suite struct RESTAccessTests {
  private let clock = ServerClock(stoppedAt: 1000)
  private let client: RESTClient
  private let verifying: RESTClient

  init() {
    let tokens = TokenTable([
      "t-ada": VerifiedToken(uid: "ada"), "t-root": VerifiedToken(uid: "root", isAdmin: true),
      "t-old": VerifiedToken(uid: "ada", expires: 500),
    ])
    let rules = ClosureRules(
      read: { target, context in
        target.path.first == "public" || (target.path.first == "known" && context.auth != nil)
          || context.auth.map { $0.uid == target.path.first?.string } ?? false
      },
      write: { path, _, context in
        context.auth.map { $0.uid == path.first?.string || $0.variable?["editor" as Key] == true }
          ?? false
      })
    let configuration = ServerConfiguration(authenticator: tokens, rules: rules, clock: clock)
    client = RESTClient(configuration, RESTConfiguration(bearers: .administrators))
    verifying = RESTClient(configuration)
    for one in [client, verifying] {
      one.server.set(.root, ["ada": ["x": 1], "public": 1], in: "default")
    }
  }

  @Test func `Rules bind everybody but administrators`() async {
    let denied = #"{"error":"Permission denied"}"#
    let cases: [(String, [String: String], Int)] = [
      ("GET /ada.json", [:], 401), ("GET /public.json", [:], 200), ("GET /.json", [:], 401),
      ("GET /ada.json?auth=t-ada", [:], 200), ("GET /ada.json?auth=", [:], 401),
      ("GET /bob.json?auth=t-ada", [:], 401), ("PUT /ada/y.json?auth=t-ada", [:], 200),
      ("PUT /bob/y.json?auth=t-ada", [:], 401), ("DELETE /public.json", [:], 401),
      ("POST /bob.json?auth=t-ada", [:], 401), ("PATCH /bob.json?auth=t-ada", [:], 401),
      ("GET /ada.json?orderBy=%22$key%22&limitToFirst=1", [:], 401),
      ("GET /ada.json?shallow=true", [:], 401), ("GET /ada.json?auth=t-root", [:], 200),
      ("GET /.json", ["authorization": "Bearer owner"], 200),
      ("GET /.json", ["authorization": "bearer anything"], 200),
      ("GET /.json", ["authorization": "Basic owner"], 401),
      ("GET /.json?access_token=anything", [:], 200),
      ("GET /ada.json", ["accept": "text/event-stream"], 401),
    ]
    for (line, headers, status) in cases {
      let reply = await client.ask(line, #"{"k":1}"#, headers)
      #expect(reply.status == status, "\(line) \(headers): \(reply.body)")
      if status == 401 { #expect(reply.body == denied, "\(line)") }
    }
    #expect(client.server.data("bob", in: "default").isEmpty)
    #expect(client.server.data("public", in: "default") == 1)
  }

  @Test func `Tokens that are none, or whose time is over, are told so`() async {
    for (line, words) in [
      ("GET /public.json?auth=nobody", "Could not parse auth token."),
      ("GET /public.json?auth=t-old", "Auth token is expired"),
    ] {
      let reply = await client.ask(line)
      #expect(reply.status == 401)
      #expect(reply.error == words)
    }
  }

  @Test func `An administrator may be somebody else`() async {
    let owner = ["authorization": "Bearer owner"]
    let cases: [(String, [String: String], Int)] = [
      (#"GET /ada.json?auth_variable_override={"uid":"ada"}"#, owner, 200),
      (#"GET /ada.json?auth_variable_override={"uid":"bob"}"#, owner, 401),
      ("GET /ada.json?auth_variable_override=null", owner, 401),
      ("GET /public.json?auth_variable_override=null", owner, 200),
      ("GET /known.json?auth_variable_override={}", owner, 200),
      (#"GET /known.json?auth_variable_override= {"uid":null} "#, owner, 200),
      ("GET /known.json?auth_variable_override= null", owner, 401),
      ("GET /ada.json?auth_variable_override={}", owner, 401),
      ("GET /known.json?auth_variable_override=[]", owner, 400),
      (#"PUT /bob.json?auth_variable_override={"uid":"x","editor":true}"#, owner, 200),
      (#"PUT /bob.json?auth_variable_override={"uid":"x","editor":false}"#, owner, 401),
      (#"GET /ada.json?auth=t-root&auth_variable_override={"uid":"ada"}"#, [:], 200),
      (#"GET /ada.json?auth=t-ada&auth_variable_override={"uid":"ada"}"#, [:], 401),
      (#"GET /public.json?auth_variable_override={"uid":"ada"}"#, [:], 401),
      ("GET /public.json?auth_variable_override=7", owner, 400),
      ("GET /public.json?auth_variable_override={", owner, 400),
      ("GET /public.json?auth_variable_override=", owner, 400),
    ]
    for (line, headers, status) in cases {
      let reply = await client.ask(line, "1", headers)
      #expect(reply.status == status, "\(line): \(reply.body)")
    }
  }

  @Test func `A server may verify the bearers of headers too`() async {
    for (token, path, status) in [
      ("t-ada", "ada", 200), ("t-ada", "bob", 401), ("t-root", "bob", 200), ("owner", "bob", 401),
    ] {
      let headers = ["authorization": "Bearer \(token)"]
      #expect(await verifying.ask("GET /\(path).json", "", headers).status == status)
      #expect(await verifying.ask("GET /\(path).json?access_token=\(token)").status == status)
    }
  }

  @Test func `Pages of other sites may not load data as scripts`() async {
    for (site, status) in [("cross-site", 403), ("same-site", 200), ("none", 200)] {
      let reply = await client.ask(
        "GET /public.json?callback=f", "", ["sec-fetch-site": site])
      #expect(reply.status == status)
    }
    #expect(
      await client.ask("GET /public.json", "", ["sec-fetch-site": "cross-site"]).status == 200)
  }
}
