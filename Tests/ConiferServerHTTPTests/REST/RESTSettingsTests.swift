import ConiferServer
import ConiferServerHTTP
import Foundation
import Testing

@Suite struct RESTSettingsTests {
  private let client = RESTClient()
  private let owner = ["authorization": "Bearer owner"]
  private let rules = """
    {
      // who may read // what
      "rules": { ".read": "auth.uid == 'a//b' /* all */", /* and
        write */ ".write": false }
    }
    """

  /// As any reader of JSON sees it.
  private func parsed(_ text: String) throws -> NSDictionary? {
    try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary
  }

  @Test func `Rules can be read and replaced`() async throws {
    let line = "/.settings/rules.json?format=strict&ns=demo"
    let first = await client.ask("GET \(line)", "", owner)
    #expect(first.status == 200)
    #expect(try parsed(first.body) == ["rules": [".read": true, ".write": true]])
    #expect(await client.ask("PUT /a.json?ns=demo", "1").status == 200)
    let put = await client.ask("PUT \(line)", rules, owner)
    #expect(put.status == 200)
    #expect(put.body == #"{"status":"ok"}"#)
    #expect(await client.ask("GET /.settings/rules.json?ns=demo", "", owner).body == rules)
    let strict = await client.ask("GET \(line)", "", owner).body
    #expect(
      try parsed(strict)
        == ["rules": [".read": "auth.uid == 'a//b' /* all */", ".write": false]])
    #expect(await client.ask("PUT /a.json?ns=demo", "2").status == 401)
    #expect(await client.ask("GET /a.json?ns=demo").status == 401)
    #expect(await client.ask("GET /a.json?ns=other").status == 200)
  }

  @Test func `Rules that are none are refused with their place, and the old ones hold`() async {
    let line = "/.settings/rules.json"
    #expect(await client.ask("PUT \(line)", #"{"rules":{".read":true}}"#, owner).status == 200)
    for text in ["", "{", "[]", #"{"rules":{".read":"nonsense("}}"#] {
      let reply = await client.ask("PUT \(line)", text, owner)
      #expect(reply.status == 400, "\(text)")
      #expect(reply.error?.first?.isNumber == true, "\(text): \(reply.body)")
    }
    #expect(await client.ask("GET \(line)", "", owner).body == #"{"rules":{".read":true}}"#)
    #expect(await client.ask("GET /a.json").status == 200)
    #expect(await client.ask("PUT /a.json", "1").status == 401)
  }

  @Test func `Once there are rules, only administrators may see and change them`() async {
    let line = "/.settings/rules.json"
    #expect(await client.ask("GET \(line)").status == 200)
    #expect(await client.ask("PUT \(line)", #"{"rules":{".read":true}}"#).status == 200)
    let override = #"?auth_variable_override={"uid":"a"}"#
    for (query, headers) in [("", [:]), ("?auth=user", [:]), (override, owner)] {
      #expect(await client.ask("GET \(line)\(query)", "", headers).status == 401, "\(query)")
      #expect(await client.ask("PUT \(line)\(query)", rules, headers).status == 401, "\(query)")
    }
    #expect(await client.ask("GET \(line)?auth=owner").status == 200)
    #expect(await client.ask("DELETE \(line)", "", owner).status == 405)
  }
}
