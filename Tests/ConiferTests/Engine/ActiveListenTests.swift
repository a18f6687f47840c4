import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Testing

@testable import Conifer

/// What is to be committed for a listen, and when.
@Suite struct ActiveListenTests {
  private static let tree = TreeID(rawValue: 1)
  private static let edit = StorageEdit.overwrite(tree, "a", Node(1))
  private static let outdatedEdit = StorageEdit.overwrite(tree, "a/old", Node(2))
  private static let (data, outdated) = (text(edit), text(outdatedEdit))

  private static func text(_ edit: StorageEdit) -> String { "\(edit)" }
  private static func saved(_ query: TrackedQuery) -> String { text(.saveQuery(query)) }

  private static func query(_ parameters: String, isComplete: Bool = false) -> TrackedQuery {
    TrackedQuery(tree: tree, path: "a", parameters: parameters, isComplete: isComplete)
  }
  private static let plain = query(TrackedQuery.defaultParameters)
  private static let filtered = query("q")

  private static func listen(_ record: ActiveListen.Record) -> ActiveListen {
    ActiveListen(Listen(QueryTarget("a"), tag: nil), record)
  }

  private static func store(_ listen: inout ActiveListen, isComplete: Bool) -> [String]? {
    listen.store([edit], isComplete: isComplete) { [outdatedEdit] }?.edits.map(text)
  }

  @Test func `A plain listen stores its record with its first data`() {
    var listen = Self.listen(.new(Self.plain))
    #expect(listen.begin() == nil)
    let complete = Self.query(TrackedQuery.defaultParameters, isComplete: true)
    #expect(
      Self.store(&listen, isComplete: true) == [Self.data, Self.outdated, Self.saved(complete)])
    #expect(listen.isRecordComplete && !listen.isLagging && listen.stored == nil)
    listen.numbered(QueryID(rawValue: 7))
    #expect(listen.stored?.id == QueryID(rawValue: 7))
    #expect(Self.store(&listen, isComplete: false) == [Self.data])
  }

  @Test func `A filtered listen stores its record alone, and what came meanwhile behind it`() {
    var listen = Self.listen(.new(Self.filtered))
    #expect(listen.begin()?.edits.map(Self.text) == [Self.saved(Self.filtered)])
    #expect(Self.store(&listen, isComplete: true) == nil)
    #expect(listen.isLagging && !listen.isRecordComplete)
    listen.numbered(QueryID(rawValue: 7))
    // It had all its data before.
    let complete = Self.query("q", isComplete: true)
    #expect(Self.store(&listen, isComplete: false) == [Self.data, Self.saved(complete)])
    #expect(!listen.isLagging && listen.isRecordComplete)
  }

  @Test func `What cannot be stored leaves the record as it was`() throws {
    let stored = StoredQuery(id: QueryID(rawValue: 7), query: Self.plain)
    var listen = Self.listen(.stored(stored))
    let commit = try #require(listen.store([Self.edit], isComplete: true) { [] })
    #expect(listen.isRecordComplete)
    listen.failed(commit)
    #expect(!listen.isRecordComplete && listen.isLagging)
    _ = Self.store(&listen, isComplete: false)
    #expect(listen.isRecordComplete && !listen.isLagging)

    var new = Self.listen(.new(Self.plain))
    let first = try #require(new.store([Self.edit], isComplete: true) { [] })
    new.failed(first)
    #expect(!new.isRecordComplete && new.isLagging)
    #expect(Self.store(&new, isComplete: false)?.last == first.edits.last.map(Self.text))
  }

  @Test func `First data that may yet fail is not made complete by what follows`() {
    var listen = Self.listen(.new(Self.plain))
    #expect(Self.store(&listen, isComplete: false) == [Self.data, Self.saved(Self.plain)])
    #expect(Self.store(&listen, isComplete: false) == [Self.data])
    #expect(Self.store(&listen, isComplete: true) == nil && listen.isLagging)
  }

  @Test func `A record that is being evicted is stored anew`() {
    var listen = Self.listen(.new(Self.plain))
    _ = Self.store(&listen, isComplete: true)
    listen.numbered(nil)
    #expect(listen.isLagging && listen.stored == nil && !listen.isRecordComplete)
    #expect(Self.store(&listen, isComplete: false)?.count == 3)
  }

  @Test func `Without a store nothing is committed`() {
    var listen = Self.listen(.none)
    #expect(listen.begin() == nil && Self.store(&listen, isComplete: true) == nil)
  }
}
