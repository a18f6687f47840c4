import Foundation
import TestSupport
import Testing

/// What Docs/AppleSDK.md says of documents.
@Suite struct AppleTableTests {
  @Test func `No row is without a name or a reason`() throws {
    let table = try AppleTable(section: "Documents")
    #expect(table.rows.count > 100)
    #expect(table.withoutReason == [])
  }

  @Test func `Nothing is called the same that is not compiled under that name`() throws {
    let sample = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("AppleNames.swift")
    #expect(try AppleTable(section: "Documents").unused(in: sample.path) == [])
  }
}
