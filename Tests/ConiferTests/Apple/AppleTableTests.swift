import Foundation
import TestSupport
import Testing

/// What Docs/AppleSDK.md says of the Realtime Database.
@Suite struct `The table of the Apple SDK's names` {
  @Test func `has no row without a name or a reason`() throws {
    let table = try AppleTable(section: "Realtime Database")
    #expect(table.rows.count > 100)
    #expect(table.withoutReason == [])
  }

  @Test func `calls nothing the same that is not compiled under that name`() throws {
    let sample = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("AppleNames.swift")
    #expect(try AppleTable(section: "Realtime Database").unused(in: sample.path) == [])
  }

  @Test func `compares functions with their labels, and members by their names`() {
    let line = "    q.observe(.value, with: show, withCancel: stop)"
    #expect(AppleTable.uses(line, "observe(_:with:withCancel:)"))
    #expect(AppleTable.uses(line, "observe(_:with:)"))
    #expect(!AppleTable.uses(line, "observe(_:andPreviousSiblingKeyWith:)"))
    #expect(!AppleTable.uses(line, "remove(withHandle:)"))
    #expect(AppleTable.uses("_ = (ref.key, ref.keys)", "key"))
    #expect(!AppleTable.uses("_ = ref.keys", "key"))
    #expect(AppleTable.uses("coder.keyStrategy = .custom({ $0 })", "Encoder.keyStrategy"))
  }
}
