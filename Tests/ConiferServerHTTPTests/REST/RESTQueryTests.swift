import ConiferQuery
import ConiferServer
import ConiferServerHTTP
import ConiferStorage
import ConiferTree
import Testing

@Suite struct RESTQueryTests {
  private let client = RESTClient()

  init() {
    client.server.set(
      "users",
      [
        "ada": ["name": "B", "born": 1815, "at": ["x": 2]],
        "bob": ["name": "A", "born": 1900, "at": ["x": 1]],
        "cy": ["name": "C", "at": ["x": 3]],
        "10": ["name": "D", "born": true],
      ], in: "default")
    client.server.set("scores", ["a": 3, "b": 1, "c": 2, "d": "x"], in: "default")
    client.server.set(
      "ranked",
      Node(children: [(Key("x"), Node("1", priority: 2)), (Key("y"), Node("2", priority: 1))]),
      in: "default")
  }

  @Test(arguments: [
    // As the Python and JavaScript clients spell them.
    ("limitToFirst=5&orderBy=%22name%22&startAt=%22B%22", "10 ada cy"),
    ("equalTo=%22ada%22&orderBy=%22$key%22", "ada"),
    ("orderBy=%22$key%22&startAt=%22ada%22&endAt=%22bob%22", "ada bob"),
    ("orderBy=%22$key%22&startAfter=%22ada%22", "bob cy"),
    ("orderBy=%22$key%22&endBefore=%22ada%22", "10"),
    ("orderBy=%22$key%22&limitToLast=2", "bob cy"),
    ("orderBy=%22$key%22&limitToFirst=1", "10"),
    ("orderBy=%22name%22", "10 ada bob cy"),
    ("orderBy=%22name%22&limitToFirst=2", "ada bob"),
    ("orderBy=%22name%22&limitToLast=1", "10"),
    ("orderBy=%22at/x%22&startAt=2", "ada cy"),
    ("orderBy=%22at/x%22&startAfter=2", "cy"),
    ("orderBy=%22at/x%22&endBefore=2", "10 bob"),
    ("orderBy=%22at/x%22&endAt=null", "10"),
    ("orderBy=%22born%22&equalTo=null", "cy"),
    ("orderBy=%22born%22&equalTo=true", "10"),
    ("orderBy=%22born%22&equalTo=1815,%22ada%22", "ada"),
    ("orderBy=%22born%22&startAt=1815,%22b%22&endAt=1900", "bob"),
    ("orderBy=%22born%22&startAfter=1815,%22[MAX_NAME]%22", "bob"),
    ("orderBy=%22born%22&startAt=1815,%22[MIN_NAME]%22", "ada bob"),
    ("orderBy=%22born%22&endBefore=1900,%22[MIN_NAME]%22&startAt=0", "ada"),
    ("orderBy=%22born%22&endAt=1900,%22[MAX_NAME]%22&startAt=0", "ada bob"),
    ("orderBy=%22$priority%22&startAt=1", ""),
  ])
  func `Queries find what they ask for`(query: String, keys: String) async throws {
    let reply = await client.ask("GET /users.json?\(query)")
    #expect(reply.status == 200, "\(reply.body)")
    let found = try Node(json: reply.body).children.map(\.key.string)
    #expect(found == keys.split(separator: " ").map(String.init), "\(query)")
  }

  @Test func `Values and priorities order too`() async {
    let answers = [
      ("/scores.json?orderBy=%22$value%22&limitToFirst=2", #"{"b":1,"c":2}"#),
      ("/scores.json?orderBy=%22$value%22&startAt=%22a%22", #"{"d":"x"}"#),
      ("/ranked.json?orderBy=%22$priority%22&equalTo=1", #"{"y":"2"}"#),
      (
        "/ranked.json?orderBy=%22$priority%22&limitToLast=1&format=export",
        #"{"x":{".value":"1",".priority":2}}"#
      ),
      ("/scores/a.json?orderBy=%22$key%22&limitToFirst=1", "null"),
      ("/none.json?orderBy=%22$key%22&limitToFirst=1", "null"),
      ("/scores.json?orderBy=%22$key%22&equalTo=%22none%22", "{}"),
    ]
    for (line, answer) in answers { #expect(await client.ask("GET \(line)").body == answer) }
  }

  @Test(arguments: [
    ("limitToFirst=2", "orderBy must be defined when other query parameters are defined"),
    ("startAt=2", "orderBy must be defined when other query parameters are defined"),
    ("orderBy=name", "orderBy must be a valid JSON encoded path"),
    ("orderBy=", "orderBy must be a valid JSON encoded path"),
    ("orderBy=7", "orderBy must be a valid JSON encoded path"),
    ("orderBy=%22a%22,%22b%22", "orderBy must be a valid JSON encoded path"),
    ("orderBy=%22name%22&startAt=abc", "Constraint index field must be a JSON primitive"),
    ("orderBy=%22name%22&startAt={}", "Constraint index field must be a JSON primitive"),
    ("orderBy=%22name%22&startAt=[1]", "Constraint index field must be a JSON primitive"),
    ("orderBy=%22name%22&startAt=1],[2", "Constraint index field must be a JSON primitive"),
    ("orderBy=%22name%22&startAt=1,%22a%22,2", "Constraint index field must be a JSON primitive"),
    ("orderBy=%22name%22&startAt=1,2", "Constraint key field must be a valid key name"),
    ("orderBy=%22$key%22&startAt=0", "Provided key index type is invalid, must be string"),
    ("orderBy=%22name%22&limitToFirst=0", "limitToFirst must be a positive integer"),
    ("orderBy=%22name%22&limitToLast=-1", "limitToLast must be a positive integer"),
    ("orderBy=%22name%22&limitToLast=%222%22", "limitToLast must be a positive integer"),
    ("orderBy=%22name%22&limitToLast=99999999999", "limitToLast must be a positive integer"),
    ("orderBy=%22name%22&limitToFirst=1&limitToLast=1", "the limit is set twice"),
    ("orderBy=%22name%22&startAt=1&startAfter=1", "the start is set twice"),
    ("orderBy=%22name%22&equalTo=1&endAt=1", "the end is set twice"),
    ("orderBy=%22a.b%22", "cannot order by the child"),
    ("orderBy=%22%22", "the child path is empty"),
    ("orderBy=%22$priority%22&startAt=true", "boolean bound"),
    ("orderBy=%22name%22&startAt=1,%22a%2Fb%22", "invalid child key"),
    ("orderBy=%22name%22&shallow=true", "Mixing 'shallow' and querying parameters"),
  ])
  func `Queries that are invalid are refused`(query: String, words: String) async {
    let reply = await client.ask("GET /users.json?\(query)")
    #expect(reply.status == 400)
    #expect(reply.error?.contains(words) == true, "\(query): \(reply.body)")
  }

  @Test func `Where indexes are declared, an order needs one`() async throws {
    client.server.setIndexes(
      [
        try IndexDefinition("users", by: .child("name")), try IndexDefinition("scores", by: .value),
      ],
      in: "default")
    let allowed = [
      "/users.json?orderBy=%22name%22&limitToFirst=1", "/scores.json?orderBy=%22$value%22",
      "/users.json?orderBy=%22$key%22&limitToFirst=1", "/users.json?orderBy=%22$priority%22",
      "/users.json",
    ]
    for line in allowed { #expect(await client.ask("GET \(line)").status == 200, "\(line)") }
    let refused = [
      ("/users.json?orderBy=%22born%22&limitToFirst=1", "born", "/users"),
      ("/users.json?orderBy=%22at/x%22", "at/x", "/users"),
      ("/users.json?orderBy=%22$value%22", ".value", "/users"),
      ("/.json?orderBy=%22name%22", "name", "/"),
    ]
    for (line, index, path) in refused {
      for headers in [[:], ["accept": "text/event-stream"], ["authorization": "Bearer owner"]] {
        let reply = await client.ask("GET \(line)", "", headers)
        #expect(reply.status == 400, "\(line)")
        #expect(
          reply.error
            == "Index not defined, add \".indexOn\": \"\(index)\", for path \"\(path)\", to the rules"
        )
      }
    }
  }
}
