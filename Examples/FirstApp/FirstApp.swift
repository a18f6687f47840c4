import ConiferKit

@main
struct Rooms {
  static func main() async throws {
    let database = Database(.local())
    let room = database.reference(withPath: "rooms/r1")
    room.observe(.value) { snapshot in
      print("The name:", snapshot.childSnapshot(forPath: "name").value as? String ?? "none")
    }
    try await room.child("name").setValue("Attic")
    print("Stored:", try await room.getData().value ?? "nothing")
    await database.close()
  }
}
