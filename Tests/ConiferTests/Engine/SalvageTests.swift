import ConiferQuery
import ConiferServer
import ConiferTree
import Foundation
import Testing

@testable import Conifer
@testable import ConiferSync

/// Stores that are damaged beyond their records, as an app meets them.
@Suite struct SalvageTests {
  @Test(arguments: [Store.sqlite])
  func `A store that cannot be opened is set aside, and the queue goes on in a new one`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("a", #"{"b":1}"#)
    let device = world.device(store)
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    device.engine.goOffline()
    var receipts: [WriteReceipt] = []
    for number in 1...4 { receipts.append(device.set(Path("k\(number)"), "\(number)")) }
    await world.waitUntilIdle()
    let last = try #require(try await receipts[3].id)
    await device.engine.close()
    try harm(device.directory)
    defer { try? FileManager.default.removeItem(atPath: device.directory + ".damaged") }
    await device.restart()
    let sent = Sent(device)
    device.listenToValue("a", QueryTarget("a"))
    let next = device.set("k5", "5")
    await world.waitUntilIdle()
    #expect(sent.paths == ["k1", "k2", "k3", "k4", "k5"])
    #expect(device.lines.take().last == #"a value {"b":1}"#)
    #expect(FileManager.default.fileExists(atPath: device.directory + ".damaged"))
    // The end of an old write is told under its number, which no new one has.
    #expect(try await device.engine.outcome(of: last) == .acknowledged)
    let number = try #require(try await next.id?.number)
    #expect(number > last.number)
  }

  /// Changes the checksum of the format record, which stands behind its key: opening refuses that.
  private func harm(_ directory: String) throws {
    let url = URL(fileURLWithPath: directory + "/conifer.sqlite")
    var bytes = try Data(contentsOf: url)
    let key = Data([1, 0, 0, 0, 0, UInt8(ascii: "f")])
    var from = bytes.startIndex
    while let place = bytes.range(of: key, in: from..<bytes.endIndex) {
      bytes[place.upperBound + 2] ^= 0xff
      from = place.upperBound
    }
    try #require(from > bytes.startIndex)
    try bytes.write(to: url)
  }
}
