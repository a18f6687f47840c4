import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

/// The samples of the guide to the rules.
@Suite struct RuleSamples {
  @Test func `The guide's rules do what the guide says`() throws {
    let json = """
      {
        "rules": {
          "notes": {
            // Whoever wrote a note may change and delete it.
            "$note": {
              ".read": "auth != null",
              ".write": "
                auth != null
                && (!data.exists() || data.child('author').val() === auth.uid)
                && (!newData.exists() || newData.child('author').val() === auth.uid)",
              ".validate": "newData.hasChildren(['author', 'text'])",
              "text": { ".validate": "newData.isString() && newData.val().length <= 2000" },
              "$other": { ".validate": "$other == 'author' || $other == 'tags'" }
            },
            ".indexOn": ["author"]
          }
        }
      }
      """
    let server = Server()
    try server.setRules(json: Array(json.utf8), in: "my-app")

    let rules = try SecurityRules(json: json)
    let before: Node = ["notes": ["n1": ["author": "ada", "text": "Hello"]]]
    let context = AccessContext(auth: VerifiedToken(uid: "bob"), root: before, now: 0)
    let decision = rules.decideWrite(
      "notes/n1/text", after: before.setting("notes/n1/text" as Path, to: "Mine"), context)
    print(decision.isAllowed, decision.reason ?? "")

    #expect(!decision.isAllowed)
    #expect(rules.writes("notes/n1/text", "Mine", as: "ada", to: before))
    #expect(rules.writes("notes/n1", .empty, as: "ada", to: before))
    #expect(!rules.writes("notes/n1/text", .empty, as: "ada", to: before))
    #expect(!rules.writes("notes/n1/title", "x", as: "ada", to: before))
    #expect(rules.reads("notes/n1", as: "bob") && !rules.reads("notes", as: "bob"))
    #expect(Peer(server, "my-app").put("notes/n2", ["author": "ada", "text": ""])?.status != .ok)
  }
}
